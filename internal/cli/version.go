package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// build says what this program was built from.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the working tree had other content
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Time is that of the commit; zero if it is not known.
	Time time.Time `json:"time,omitzero"`
}

func (in *invocation) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of culm, and what it was built from",
		Example: "  culm version -o json",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return in.runVersion() },
	}
}

func (in *invocation) runVersion() error {
	b := thisBuild()
	if in.global.json() {
		return writeJSONDoc(in.Stdout, b)
	}
	commit := b.Commit
	if commit == "" {
		commit = "unknown"
	}
	if b.Modified {
		commit += " (modified)"
	}
	_, err := fmt.Fprintf(in.Stdout, "culm %s\ncommit    %s\ngo        %s\nplatform  %s\n", b.Version, commit, b.Go, b.Platform)
	return err
}

func thisBuild() build {
	b := build{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Time, _ = time.Parse(time.RFC3339, s.Value) // zero if it is none
		}
	}
	return b
}
