package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/workflow"
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
example in workflows/ with its test cases, agents/, and in .culm/ the schemas by which
an editor completes and checks files. The example needs no key, no network and no flag.
Nothing is ever overwritten.`,
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
	project, err := projectFiles()
	if err != nil {
		return err
	}
	files := slices.Sorted(maps.Keys(project))
	if err := refuseExisting(dir, files); err != nil {
		return err
	}
	for _, name := range files {
		if err := writeNew(filepath.Join(dir, filepath.FromSlash(name)), project[name]); err != nil {
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

// Where the schemas of a project lie, below its folder.
const (
	workflowSchemaFile = ".culm/workflow.schema.json"
	configSchemaFile   = ".culm/config.schema.json"
)

// projectFiles are all files of a new project, with their content.
func projectFiles() (map[string][]byte, error) {
	config, err := configSchema()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{workflowSchemaFile: workflow.JSONSchema(), configSchemaFile: config}
	err = fs.WalkDir(scaffold, "scaffold", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := scaffold.ReadFile(path)
		name := strings.TrimPrefix(path, "scaffold/")
		files[name] = append([]byte(schemaLine(name)), data...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read scaffold: %w", err)
	}
	return files, nil
}

// schemaLine is the first line of a file, by which editors with the YAML language
// server find its schema; "" for files that have none.
func schemaLine(name string) string {
	switch {
	case name == configFile:
		return "# yaml-language-server: $schema=" + configSchemaFile + "\n"
	case path.Dir(name) == workflowsDir && path.Ext(name) == ".yaml" && !strings.HasSuffix(name, ".test.yaml"):
		return "# yaml-language-server: $schema=../" + workflowSchemaFile + "\n"
	}
	return ""
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

// writeNew writes a file of the project; one that appeared meanwhile stays.
func writeNew(path string, data []byte) error {
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
