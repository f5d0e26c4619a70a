package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// scaffold is the project that init makes. examples/hello holds the same files.
//
//go:embed all:scaffold
var scaffold embed.FS

func (in *invocation) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a project that runs at once",
		Long: `Writes a small project into DIR, the current directory by default: culm.yaml, an
example in workflows/ with its test cases, and agents/. The example needs no key, no network and no
flag. Nothing is ever overwritten.`,
		Example: `  culm init hello
  cd hello && culm run hello && culm test`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return in.runInit(dir)
		},
	}
}

func (in *invocation) runInit(dir string) error {
	project, err := fs.Sub(scaffold, "scaffold")
	if err != nil {
		return fmt.Errorf("open scaffold: %w", err)
	}
	files, err := filesOf(project)
	if err != nil {
		return err
	}
	if err := refuseExisting(dir, files); err != nil {
		return err
	}
	for _, name := range files {
		if err := copyOut(project, name, dir); err != nil {
			return err
		}
	}
	if in.global.json() {
		return writeJSONDoc(in.Stdout, map[string]any{"dir": dir, "files": files})
	}
	for _, name := range files {
		if _, err := fmt.Fprintln(in.Stdout, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	in.note("Now type:")
	if dir != "." {
		in.note("  cd " + quote(dir))
	}
	in.note("  culm run hello", "  culm test")
	return nil
}

func filesOf(project fs.FS) ([]string, error) {
	var files []string
	err := fs.WalkDir(project, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list scaffold: %w", err)
	}
	return files, nil
}

func refuseExisting(dir string, files []string) error {
	var there []string
	for _, name := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	if len(there) == 0 {
		return nil
	}
	f := &Failure{
		Exit: ExitRefused, Code: codeFilesExist, Message: "nothing was written, since these exist already:",
		Details: map[string]any{"files": there},
	}
	for _, path := range there {
		f.help("%s", path)
	}
	return f.help("Name another folder: culm init DIR")
}

// copyOut writes one file of the project; one that appeared meanwhile stays.
func copyOut(project fs.FS, name, dir string) error {
	data, err := fs.ReadFile(project, name)
	if err != nil {
		return fmt.Errorf("read scaffold: %w", err)
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return writeFailure(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return writeFailure(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return writeFailure(err)
	}
	return nil
}

func writeFailure(err error) *Failure {
	return &Failure{Exit: ExitStorage, Code: codeStorage, Message: "write project: " + err.Error()}
}
