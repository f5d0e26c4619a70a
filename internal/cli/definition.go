package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/internal/app"
	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// workflowsDir is the folder of the catalog, beside the settings.
const workflowsDir = "workflows"

// registry holds the tools that this program has.
func (in *invocation) registry() (*tool.Registry, error) {
	registry, err := tool.NewRegistry(app.Tools(in.Executable)...)
	if err != nil {
		return nil, fmt.Errorf("register tools: %w", err)
	}
	return registry, nil
}

func schemasOf(registry *tool.Registry) workflow.ToolSchemas {
	return func(name string) (input, output json.RawMessage, ok bool) {
		spec, ok := registry.Spec(name)
		return spec.Input, spec.Output, ok
	}
}

// catalogDirs are where workflows are looked for by id.
func (in *invocation) catalogDirs(c *config) []string {
	base := in.global.workspace
	if c.Path != "" {
		base = filepath.Dir(c.Path)
	}
	return []string{filepath.Join(base, workflowsDir)}
}

// compile finds the workflow that FILE|DIR|ID means, and compiles it with all it
// reaches. Notes are worth telling, and no errors.
func (in *invocation) compile(c *config, target string) (program *workflow.Program, notes []string, err error) {
	registry, err := in.registry()
	if err != nil {
		return nil, nil, err
	}
	src, catalog, err := in.locate(c, target)
	if err != nil {
		return nil, nil, err
	}
	program, err = workflow.Compile(src, catalog, schemasOf(registry))
	if err != nil {
		return nil, nil, err
	}
	for _, other := range catalog.Conflicts(src) {
		notes = append(notes, fmt.Sprintf("%s has other content under the same id and revision, %s; %s is run",
			other.Name(), program.Root.Ref, src.Name()))
	}
	return program, notes, nil
}

// locate finds what FILE|DIR|ID means, and what it may reach.
func (in *invocation) locate(c *config, target string) (*workflow.Source, *workflow.Snapshot, error) {
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return in.locateDir(c, target)
	case err == nil:
		return in.locateFile(c, target)
	case looksLikePath(target):
		return nil, nil, noFile(target, err)
	}
	return in.locateID(c, target)
}

func (in *invocation) locateFile(c *config, path string) (*workflow.Source, *workflow.Snapshot, error) {
	src, err := workflow.LoadFile(path)
	if src == nil {
		return nil, nil, unreadable(path, err)
	}
	catalog, err := workflow.DirCatalog(append([]string{filepath.Dir(path)}, in.catalogDirs(c)...)...).Snapshot()
	if err != nil {
		return nil, nil, fmt.Errorf("read catalog: %w", err)
	}
	return src, catalog, nil
}

// locateDir takes the only workflow in a folder, or in its folder of workflows.
func (in *invocation) locateDir(c *config, dir string) (*workflow.Source, *workflow.Snapshot, error) {
	here, err := workflow.DirCatalog(dir, filepath.Join(dir, workflowsDir)).Snapshot()
	if err != nil {
		return nil, nil, fmt.Errorf("read folder: %w", err)
	}
	src, err := here.Only()
	var several *workflow.NotOneError
	if errors.As(err, &several) {
		return nil, nil, in.notOne(dir, several)
	}
	if err != nil {
		return nil, nil, lookupFailure(err)
	}
	catalog, err := workflow.DirCatalog(append([]string{dir, filepath.Join(dir, workflowsDir)}, in.catalogDirs(c)...)...).Snapshot()
	if err != nil {
		return nil, nil, fmt.Errorf("read catalog: %w", err)
	}
	return src, catalog, nil
}

func (in *invocation) locateID(c *config, target string) (*workflow.Source, *workflow.Snapshot, error) {
	dirs := in.catalogDirs(c)
	catalog, err := workflow.DirCatalog(dirs...).Snapshot()
	if err != nil {
		return nil, nil, fmt.Errorf("read catalog: %w", err)
	}
	id, revision, pinned := strings.Cut(target, "@")
	find := func() (*workflow.Source, error) { return catalog.Highest(id) }
	if pinned {
		n, err := strconv.Atoi(revision)
		if err != nil || n < 1 {
			return nil, nil, usage("%s: a revision is a number from 1, such as %s@1", target, id)
		}
		find = func() (*workflow.Source, error) { return catalog.Find(id, n) }
	}
	src, err := find()
	if err != nil {
		f := lookupFailure(err)
		return nil, nil, f.help("There is no file or folder %s either. Workflows are looked for by id in %s.", target, strings.Join(dirs, ", "))
	}
	return src, catalog, nil
}

func looksLikePath(target string) bool {
	switch filepath.Ext(target) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return strings.ContainsRune(target, filepath.Separator)
}

// noFile says that a file is missing, and which one was probably meant.
func noFile(path string, err error) *Failure {
	f := &Failure{Exit: ExitUsage, Code: codeNotFound, Message: "no such file or folder: " + path}
	if !errors.Is(err, os.ErrNotExist) {
		f.Message = err.Error()
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return f
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if near := canon.Near(filepath.Base(path), names); near != "" {
		f.help("Did you mean %s?", filepath.Join(filepath.Dir(path), near))
	}
	return f
}

func unreadable(path string, err error) error {
	var errs workflow.Errors
	if errors.As(err, &errs) {
		return errs
	}
	return &Failure{Exit: ExitUsage, Code: codeInvalidDefinition, Message: fmt.Sprintf("read %s: %v", path, err)}
}

func (in *invocation) notOne(dir string, e *workflow.NotOneError) *Failure {
	f := &Failure{
		Exit: ExitUsage, Code: codeAmbiguous, Message: dir + ": " + e.Error(),
		Details: map[string]any{"workflows": e.IDs},
	}
	if len(e.IDs) == 0 {
		f.Code = codeNotFound
		return f.help("Workflows are *.yaml, *.yml or *.json files in %s or in %s.", dir, filepath.Join(dir, workflowsDir))
	}
	return f.help("Name the file of the one to run, or its id from the folder that holds %s.", workflowsDir)
}

func lookupFailure(err error) *Failure {
	f := &Failure{Exit: ExitUsage, Code: codeNotFound, Message: err.Error()}
	var lookup *workflow.LookupError
	if errors.As(err, &lookup) {
		f.Code = string(lookup.Code)
	}
	return f
}
