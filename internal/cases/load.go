package cases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Loader reads files of cases.
type Loader struct {
	// Compile compiles the workflow in a file.
	Compile func(path string) (*workflow.Program, error)
	// Tools are those that culm has.
	Tools []tool.Tool
}

// suffixes are what names of files of cases end in, by what they end in without
// the test's own part.
func suffixes() []string { return []string{".yaml", ".yml", ".json"} }

// IsFile reports whether a path is named as a file of cases.
func IsFile(path string) bool {
	ext := filepath.Ext(path)
	return slices.Contains(suffixes(), ext) && strings.HasSuffix(strings.TrimSuffix(path, ext), ".test")
}

// Beside gives the files of cases that there are for the workflow in a file.
func Beside(path string) []string {
	var found []string
	for _, ext := range suffixes() {
		name := strings.TrimSuffix(path, filepath.Ext(path)) + ".test" + ext
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			found = append(found, name)
		}
	}
	return found
}

// Load reads a file. All that is wrong with it is reported at once, as
// [workflow.Errors]; errors of its workflow come from Compile.
func (l Loader) Load(path string) (*File, error) {
	doc, err := workflow.LoadDocumentFile(path)
	if doc == nil {
		return nil, err
	}
	root := doc.Root()
	known := root.Fields("a file of cases", []string{"test_schema", "cases"}, []string{"workflow", "effects"})
	if known && root.Get("test_schema").Whole(Schema, Schema) != Schema {
		return nil, doc.Errors()
	}
	f := &File{Path: path, tools: l.Tools}
	program, err := l.compile(path, root.Get("workflow"))
	if err != nil {
		return nil, errors.Join(orNil(doc.Errors()), err)
	}
	f.Program = program
	d := &decoder{file: f}
	d.effects(root.Get("effects"))
	d.names()
	d.foreign(root)
	d.cases(root.Get("cases"))
	if errs := doc.Errors(); errs != nil {
		return nil, errs
	}
	return f, nil
}

// orNil keeps an empty list from becoming an error.
func orNil(errs workflow.Errors) error {
	if errs == nil {
		return nil
	}
	return errs
}

// compile compiles the workflow that the file is about: the one that it names, or
// the one beside it. It is nil if the name is wrong, which has been reported.
func (l Loader) compile(path string, name workflow.Value) (*workflow.Program, error) {
	if name.Present() {
		text := name.Text()
		target := filepath.Join(filepath.Dir(path), filepath.FromSlash(text))
		if _, err := os.Stat(target); err != nil && text != "" {
			name.Refuse(workflow.UnknownWorkflow, "there is no file %s", target)
		} else if text != "" {
			return l.Compile(target)
		}
		return nil, nil
	}
	base := strings.TrimSuffix(strings.TrimSuffix(path, filepath.Ext(path)), ".test")
	for _, ext := range suffixes() {
		if _, err := os.Stat(base + ext); err == nil {
			return l.Compile(base + ext)
		}
	}
	return nil, workflow.Errors{{
		Code: workflow.UnknownWorkflow, File: path,
		Message: fmt.Sprintf("there is no workflow %s.yaml beside it", base), Hint: "name the one that it tests: workflow: FILE",
	}}
}

// decoder reads what a file says, and reports what does not fit.
type decoder struct {
	file      *File
	toolNames []string // that steps may call, or cases script
	stepIDs   []string // nil if the workflow is not known
}

// effects reads what the tools do that culm does not have.
func (d *decoder) effects(v workflow.Value) {
	if !v.Present() {
		return
	}
	d.file.effects = map[string]tool.Effect{}
	for _, m := range v.Members() {
		if d.has(m.Name) {
			v.RefuseName(m.Name, workflow.InvalidValue, "culm has the tool %s, with an effect of its own", m.Name)
			continue
		}
		e := m.OneOf("effect", string(tool.Read), string(tool.Idempotent), string(tool.Write))
		d.file.effects[m.Name] = tool.Effect(e)
	}
}

// has reports whether culm has the tool.
func (d *decoder) has(name string) bool {
	return slices.ContainsFunc(d.file.tools, func(t tool.Tool) bool { return t.Spec().Name == name })
}

// names finds what a case may name.
func (d *decoder) names() {
	for _, t := range d.file.tools {
		d.toolNames = append(d.toolNames, t.Spec().Name)
	}
	for name := range d.file.effects {
		d.toolNames = append(d.toolNames, name)
	}
	slices.Sort(d.toolNames)
	if d.file.Program == nil {
		return
	}
	for _, w := range d.file.Program.Workflows {
		for i := range w.Def.Steps {
			d.stepIDs = append(d.stepIDs, w.Def.Steps[i].ID)
		}
	}
	slices.Sort(d.stepIDs)
}

// foreign reports tools of the workflow of which nobody says what they do.
func (d *decoder) foreign(root workflow.Value) {
	if d.file.Program == nil {
		return
	}
	var said []string
	for _, w := range d.file.Program.Workflows {
		for i := range w.Def.Steps {
			if name := w.Def.Steps[i].Tool; name != "" && !slices.Contains(d.toolNames, name) && !slices.Contains(said, name) {
				said = append(said, name)
			}
		}
	}
	slices.Sort(said)
	for _, name := range said {
		root.Refuse(workflow.MissingField, "the workflow calls tool %s, which culm does not have", name).
			Hint = fmt.Sprintf("say what calling it does, beside cases: effects: {%s: write}", name)
	}
}

// checkTool reports a name that is no tool's.
func (d *decoder) checkTool(name string, refuse func(code workflow.Code, format string, args ...any) *workflow.Error) {
	if name == "" || slices.Contains(d.toolNames, name) {
		return
	}
	e := refuse(workflow.InvalidValue, "culm has no tool %q", name)
	if e.Near = canon.Near(name, d.toolNames); e.Near == "" {
		e.Hint = fmt.Sprintf("say what calling it does, beside cases: effects: {%s: write}", name)
	}
}

// checkStep reports a name that is no step's.
func (d *decoder) checkStep(name string, refuse func(code workflow.Code, format string, args ...any) *workflow.Error) {
	if name == "" || d.stepIDs == nil || slices.Contains(d.stepIDs, stepOf(name)) {
		return
	}
	refuse(workflow.UnknownStep, "the workflow has no step %q", stepOf(name)).Near = canon.Near(stepOf(name), d.stepIDs)
}
