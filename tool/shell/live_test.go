package shell_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/shell"
)

// onLine calls do with what was written so far, each time something is.
type onLine struct {
	text bytes.Buffer
	do   func(text string)
}

func (w *onLine) Write(p []byte) (int, error) {
	w.text.Write(p)
	w.do(w.text.String())
	return len(p), nil
}

// The program goes on only after what it printed was heard.
func TestExecPrintsLive(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		c := newCall(t, map[string]any{
			"shell": "echo oops >&2; printf 'ready? '; while ! test -e go; do sleep 0.02; done; echo yes",
		})
		stderr := &onLine{do: func(string) {}}
		stdout := &onLine{do: func(text string) {
			if text != "ready? " {
				return
			}
			if err := os.WriteFile(filepath.Join(c.Workspace, "go"), nil, 0o600); err != nil {
				t.Error(err)
			}
		}}
		c.Live = func(s tool.Stream) io.Writer {
			if s == tool.Stdout {
				return stdout
			}
			return stderr
		}
		got, err := run(t, opts, c)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Stdout) != `"ready? yes\n"` || stdout.text.String() != "ready? yes\n" || stderr.text.String() != "oops\n" {
			t.Errorf("returned %s, printed %q and %q", got.Stdout, stdout.text.String(), stderr.text.String())
		}
	})
}
