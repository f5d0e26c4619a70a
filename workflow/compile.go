package workflow

import (
	"maps"
	"slices"

	"github.com/culm-dev/culm/internal/schema"
)

// Compile pins root and everything that it reaches, checks all of it, and links
// it into a program.
//
// Nested workflows come from one snapshot of the catalog, which is not read if
// root nests none; nil is an empty catalog. What tools tells of a tool's input
// is checked against the arguments of its steps, and what it tells of the output
// serves as the step's schema; with nil, or for a tool that nobody knows,
// nothing is known, which is never an error here.
//
// The error is [Errors]: all that is wrong with root, those of loading it
// included, and with the definitions it nests; or it is an error in reading the
// catalog.
func Compile(root *Source, catalog Catalog, tools ToolSchemas) (*Program, error) {
	c := newCompiler(tools)
	if err := c.pin(root, catalog); err != nil {
		return nil, err
	}
	return c.program(func() (*Bundle, error) { return c.bundle(root) })
}

// CompileBundle compiles a pinned bundle: the same checks as [Compile], on the
// pinned definitions alone.
func CompileBundle(b *Bundle, tools ToolSchemas) (*Program, error) {
	if b.sources == nil { // put together by hand
		raw, err := b.Canonical()
		if err != nil {
			return nil, err
		}
		if b, err = ParseBundle(raw); err != nil {
			return nil, err
		}
	}
	c := newCompiler(tools)
	root := b.sources[Ref(b.RootID, b.RootRevision)]
	c.gather(root, &bundleLookup{b})
	for _, ref := range slices.Sorted(maps.Keys(b.sources)) {
		if c.byRef[ref] == nil { // not reached, but pinned
			c.gather(b.sources[ref], &bundleLookup{b})
		}
	}
	return c.program(func() (*Bundle, error) { return b, nil })
}

// compiler compiles one root and what it reaches.
type compiler struct {
	tools *toolbox
	units []*unit          // in the order in which they were found, root first
	byRef map[string]*unit // by Ref
	order []*unit          // nested before nesting
	full  bool             // there are too many definitions
}

// unit is one definition being compiled.
type unit struct {
	src    *Source
	report *report
	nested map[int]*unit // by the index of the workflow step
	wf     *Workflow
	depth  int // levels of workflow steps below it
}

func newCompiler(tools ToolSchemas) *compiler {
	return &compiler{tools: newToolbox(tools), byRef: map[string]*unit{}}
}

// program compiles all units, nested ones first.
func (c *compiler) program(pin func() (*Bundle, error)) (*Program, error) {
	for _, u := range c.order {
		newChecker(c, u).check()
	}
	c.checkBudgets()
	if errs := c.errors(); len(errs) > 0 {
		return nil, errs
	}
	b, err := pin()
	if err != nil {
		return nil, err
	}
	hash, err := b.Hash()
	if err != nil {
		return nil, err
	}
	p := &Program{Bundle: b, Hash: hash, Root: c.units[0].wf, Workflows: map[string]*Workflow{}, Depth: c.units[0].depth}
	for _, u := range c.units {
		p.Workflows[u.wf.Ref] = u.wf
	}
	return p, nil
}

// errors are all errors, the root's file first.
func (c *compiler) errors() Errors {
	var errs Errors
	for _, u := range c.units {
		errs = append(errs, u.report.sorted()...)
	}
	return errs
}

// bundle puts what was pinned together.
func (c *compiler) bundle(root *Source) (*Bundle, error) {
	b := &Bundle{
		PublicationRevision: localPublication,
		RootID:              root.def.ID,
		RootRevision:        root.def.Revision,
		Definitions:         map[string]*Definition{},
	}
	for _, u := range c.units {
		b.Definitions[u.src.def.Ref()] = u.src.def
	}
	raw, err := b.Canonical()
	if err != nil {
		return nil, err
	}
	if n := len(raw); n > MaxBundleBytes {
		r := &report{text: root.report.text}
		r.at(root.root, BundleTooLarge, "the definition and all it nests have %d bytes in canonical form", n).Expected = "at most 524288"
		return nil, r.sorted()
	}
	b.written, b.sources = raw, map[string]*Source{}
	for _, u := range c.units {
		b.sources[u.src.def.Ref()] = u.src
	}
	return b, nil
}

// checkBudgets checks that no nested definition asks for more than the root.
func (c *compiler) checkBudgets() {
	if len(c.units) == 0 {
		return
	}
	root := c.units[0].src.def
	for _, u := range c.units[1:] {
		if u.src.def.Budgets == nil {
			continue
		}
		for _, f := range budgetFields() {
			limit := f.value(root.Budgets)
			if limit == nil {
				limit = f.value(DefaultBudgets())
			}
			if asked := f.value(u.src.def.Budgets); over(asked, limit) {
				u.report.at(u.src.place("/budgets/"+f.name), NestedBudget, "%s is %d, more than that of %s, which nests this definition",
					f.name, *asked, root.Ref()).Expected = bounds(f.low, *limit)
			}
		}
	}
}

// toolbox remembers what is known of tools.
type toolbox struct {
	ask   ToolSchemas
	known map[string]toolInfo
}

// toolInfo is what is known of a tool; nil schemas where nothing is.
type toolInfo struct{ input, output *schema.Schema }

func newToolbox(ask ToolSchemas) *toolbox { return &toolbox{ask: ask, known: map[string]toolInfo{}} }

func (t *toolbox) info(name string) toolInfo {
	if t.ask == nil {
		return toolInfo{}
	}
	if info, ok := t.known[name]; ok {
		return info
	}
	var info toolInfo
	if input, output, ok := t.ask(name); ok {
		info = toolInfo{compiled(input), compiled(output)}
	}
	t.known[name] = info
	return info
}

// compiled is a schema of a tool. One that is not valid tells nothing: the
// registry of tools is where that is an error.
func compiled(raw []byte) *schema.Schema {
	if len(raw) == 0 {
		return nil
	}
	s, problems := schema.Compile(raw)
	if len(problems) > 0 {
		return nil
	}
	return s
}

// bundleLookup finds nested definitions among those that were pinned.
type bundleLookup struct{ b *Bundle }

func (l *bundleLookup) Find(id string, revision int) (*Source, error) {
	if src := l.b.sources[Ref(id, revision)]; src != nil {
		return src, nil
	}
	err := &LookupError{Code: UnknownWorkflow, Ref: Ref(id, revision)}
	var ids []string
	for _, ref := range slices.Sorted(maps.Keys(l.b.Definitions)) {
		def := l.b.Definitions[ref]
		ids = append(ids, def.ID)
		if def.ID == id {
			err.Code, err.Revisions = RevisionMismatch, append(err.Revisions, def.Revision)
		}
	}
	err.Near = near(id, ids)
	return nil, err
}
