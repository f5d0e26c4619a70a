package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/internal/app"
	"github.com/culm-dev/culm/store"
)

func (in *invocation) backupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "backup DEST",
		Short: "Copy the whole store, while everything goes on",
		Long: `Copies all runs into the new folder DEST, as they are at one moment. Runs go on
meanwhile, in this and in other processes. When it returns, the copy is on disk.

The copy is a data directory: look at it with --data DEST. (That of a store of files is
one again: --store file:DEST.) To restore it, stop all culm processes and put it where
the original was. It has another generation than the store that it was copied from: runs
in it that had not ended may have gone on since, so that they go on only after "culm
continue RUN --takeover" said that they did not. "culm doctor" says all of this about a
copy.`,
		Example: `  culm backup "/backups/culm-$(date +%F)"
  culm list --data /backups/culm-2026-11-30`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return in.runBackup(cmd.Context(), args[0]) },
	}
}

// backupReport says what a backup is.
type backupReport struct {
	Path       string `json:"path"`
	Bytes      int64  `json:"bytes"`
	Copied     string `json:"copied"` // the generation it was copied from
	Generation string `json:"generation"`
}

func (in *invocation) runBackup(ctx context.Context, dest string) (err error) {
	url, err := in.url()
	if err != nil {
		return err
	}
	st, err := app.OpenKept(ctx, url, false)
	if err != nil {
		return keptFailure(url, err)
	}
	defer func() { err = orClose(err, st) }()
	if dest, err = filepath.Abs(dest); err != nil {
		return fmt.Errorf("find %s: %w", dest, err)
	}
	place := app.PlaceOf(url)
	err = copyInto(place, dest, func(path string) error { return st.Backup(ctx, path) })
	if err != nil {
		return backupFailure(dest, err)
	}
	report, err := copyReport(ctx, place, dest)
	if err != nil {
		return err
	}
	if in.global.json() {
		return writeJSONDoc(in.Stdout, report)
	}
	if _, err := fmt.Fprintf(in.Stdout, "Backed up to %s (%s).\n", dest, byteWords(report.Bytes)); err != nil {
		return err
	}
	in.note("To look at it:", "  "+line(append([]string{"culm", "list"}, place.Flags(dest)...)...))
	return nil
}

// url is the URL of the store that flags and settings name.
func (in *invocation) url() (string, error) {
	cfg, err := in.loadConfig()
	if err != nil {
		return "", err
	}
	return in.global.storeURL(cfg)
}

// keptFailure is that of opening a store to keep house in it.
func keptFailure(url string, err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return &Failure{
			Exit: ExitRefused, Code: codeNoHousekeeping, Message: fmt.Sprintf("house cannot be kept in %s by this version", url),
			Help: []string{"Copy its folder while no culm process runs."},
		}
	}
	return openFailure(url, err)
}

func orClose(err error, st store.Store) error {
	if closing := st.Close(); closing != nil && err == nil {
		return fmt.Errorf("close store: %w", closing)
	}
	return err
}

// copyInto makes the folder that a copy of the store is to be in, and the copy.
func copyInto(place app.Place, dest string, make func(path string) error) error {
	path, makeFolder := place.Copy(dest)
	if !makeFolder {
		return make(path)
	}
	if err := os.Mkdir(dest, 0o700); err != nil {
		return err
	}
	if err := make(path); err != nil {
		return errors.Join(err, os.RemoveAll(dest)) // nobody else's: it was made here
	}
	return nil
}

func copyReport(ctx context.Context, place app.Place, dest string) (*backupReport, error) {
	flags := place.Flags(dest)
	url := flags[1]
	if flags[0] == "--data" {
		path, _ := place.Copy(dest)
		url = "sqlite:" + path
	}
	st, err := app.OpenKept(ctx, url, false)
	if err != nil {
		return nil, fmt.Errorf("look at the copy: %w", err)
	}
	id, err := st.Identity(ctx)
	if err = orClose(err, st); err != nil {
		return nil, fmt.Errorf("look at the copy: %w", err)
	}
	return &backupReport{Path: dest, Bytes: id.Size, Copied: id.Copied, Generation: id.Generation}, nil
}

func backupFailure(dest string, err error) error {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrExist):
		return usage("%s is there already: a backup is never written over anything", dest).help("Give a folder that does not exist yet.")
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &path):
		parent := filepath.Dir(filepath.Clean(dest))
		return usage("there is no folder %s to make %s in", parent, filepath.Base(dest)).help("To make it: mkdir -p %s", quote(parent))
	case errors.Is(err, store.ErrNotFound):
		return &Failure{Exit: ExitRefused, Code: codeNotFound, Message: "there is nothing to back up: no run was ever started here"}
	case errors.Is(err, errors.ErrUnsupported):
		return &Failure{Exit: ExitRefused, Code: codeNoHousekeeping, Message: err.Error()}
	}
	return &Failure{
		Exit: ExitStorage, Code: codeStorage, Message: err.Error(),
		Help: []string{"Nothing was left there. To see what is wrong with the store: culm doctor"},
	}
}
