package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// lookup finds nested definitions; its errors are [*LookupError], or errors in
// reading.
type lookup interface {
	Find(id string, revision int) (*Source, error)
}

// pin gathers root and everything that it reaches out of the catalog.
func (c *compiler) pin(root *Source, catalog Catalog) error {
	if !nests(root.def) {
		c.gather(root, NewSnapshot())
		return nil
	}
	snapshot := NewSnapshot()
	if catalog != nil {
		read, err := catalog.Snapshot()
		if err != nil {
			return fmt.Errorf("pin %s: %w", root.def.Ref(), err)
		}
		snapshot = read
	}
	c.gather(root, snapshot)
	return nil
}

// nests reports whether a definition has a workflow step.
func nests(def *Definition) bool {
	return slices.ContainsFunc(def.Steps, func(s *Step) bool { return s.Type == WorkflowStep })
}

// gather finds all definitions that root reaches.
func (c *compiler) gather(root *Source, from lookup) {
	g := &gatherer{compiler: c, from: from}
	g.unit(root)
}

type gatherer struct {
	*compiler
	from  lookup
	stack []*unit // from the root to the definition being looked at
}

// unit adds a definition and, depth first, what it nests.
func (g *gatherer) unit(src *Source) *unit {
	u := &unit{
		src: src, nested: map[int]*unit{},
		report: &report{text: src.report.text, list: slices.Clone(src.report.list)},
	}
	g.units = append(g.units, u)
	g.byRef[src.def.Ref()] = u
	g.stack = append(g.stack, u)
	for i, s := range src.def.Steps {
		if s.Type != WorkflowStep || s.WorkflowID == "" || s.Revision == 0 {
			continue
		}
		if nested := g.nest(u, i, s); nested != nil {
			u.nested[i] = nested
			u.depth = max(u.depth, nested.depth+1)
		}
	}
	g.stack = g.stack[:len(g.stack)-1]
	g.order = append(g.order, u)
	return u
}

// nest finds the definition that a workflow step runs; nil after an error.
func (g *gatherer) nest(u *unit, index int, s *Step) *unit {
	ref := Ref(s.WorkflowID, s.Revision)
	place := func(field string) *value { return u.src.place(fmt.Sprintf("/steps/%d/%s", index, field)) }
	if known := g.byRef[ref]; known != nil {
		if i := slices.Index(g.stack, known); i >= 0 {
			u.report.at(place("workflow_id"), NestingCycle, "%s nests itself: %s", ref, chain(g.stack[i:], ref))
			return nil
		}
		return known
	}
	if g.full {
		return nil
	}
	if len(g.units) == MaxDefinitions {
		g.full = true
		u.report.at(place("workflow_id"), TooManyDefinitions, "this would be definition number %d", MaxDefinitions+1).
			Expected = fmt.Sprintf("at most %d definitions, the root included", MaxDefinitions)
		return nil
	}
	src, err := g.from.Find(s.WorkflowID, s.Revision)
	if err != nil {
		reportLookup(u.report, place, err)
		return nil
	}
	return g.unit(src)
}

// chain writes who nests whom, around a cycle.
func chain(units []*unit, closing string) string {
	var b strings.Builder
	for _, u := range units {
		b.WriteString(u.src.def.Ref() + " -> ")
	}
	return b.String() + closing
}

func reportLookup(r *report, place func(field string) *value, err error) {
	var missing *LookupError
	if !errors.As(err, &missing) {
		r.at(place("workflow_id"), UnknownWorkflow, "%v", err)
		return
	}
	switch missing.Code {
	case DefinitionConflict:
		r.at(place("workflow_id"), DefinitionConflict, "%v", missing).Hint = "give one of them a new revision"
	case RevisionMismatch:
		r.at(place("revision"), RevisionMismatch, "there is no %s", missing.Ref).Expected = "revision " + joinInts(missing.Revisions)
	default:
		e := r.at(place("workflow_id"), UnknownWorkflow, "there is no workflow %s", missing.Ref)
		e.Near = missing.Near
		if len(missing.Unreadable) > 0 {
			e.Hint = fmt.Sprintf("%d files of the catalog could not be read, the first: %v", len(missing.Unreadable), firstLine(missing.Unreadable[0]))
		}
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
