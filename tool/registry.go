package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culm-dev/culm/internal/canon"
)

// Registry is the set of tools that runs may call. It never changes after
// [NewRegistry] and is safe for concurrent use.
type Registry struct {
	names   []string
	entries map[string]*entry
}

// entry is one tool with what was true of it at registration.
type entry struct {
	tool   Tool
	spec   Spec
	hash   string
	input  *jsonschema.Schema // nil accepts any object
	output *jsonschema.Schema // nil accepts anything
}

// NewRegistry checks every tool's [Spec] and returns them as a registry. All
// that is wrong is reported at once, joined by [errors.Join]: a nil tool, a name
// outside the grammar or given twice, an effect that is none, a malformed
// capability, a schema that does not compile. Schemas cannot refer to other
// documents: nothing is ever opened or fetched.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{entries: make(map[string]*entry, len(tools))}
	var errs []error
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("register tool %d: it is nil", i))
			continue
		}
		e, err := newEntry(t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if r.entries[e.spec.Name] != nil {
			errs = append(errs, fmt.Errorf("register tool %q: the name is taken", e.spec.Name))
			continue
		}
		r.entries[e.spec.Name] = e
		r.names = append(r.names, e.spec.Name)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.Sort(r.names)
	return r, nil
}

// Lookup returns the tool of that name.
func (r *Registry) Lookup(name string) (Tool, bool) {
	e, ok := r.entries[name]
	if !ok {
		return nil, false
	}
	return e.tool, true
}

// Spec returns what the tool of that name said about itself at registration,
// with its capability filled in.
func (r *Registry) Spec(name string) (Spec, bool) {
	e, ok := r.entries[name]
	if !ok {
		return Spec{}, false
	}
	return e.spec, true
}

// Hash returns [SpecHash] of the tool of that name, "" if there is none.
func (r *Registry) Hash(name string) string {
	e, ok := r.entries[name]
	if !ok {
		return ""
	}
	return e.hash
}

// Names returns the names of all tools, sorted.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// CheckInput validates args against the input schema of the tool of that name.
// A tool without one accepts any object.
func (r *Registry) CheckInput(name string, args json.RawMessage) error {
	e, ok := r.entries[name]
	if !ok {
		return fmt.Errorf("check arguments: no tool %q", name)
	}
	return validate(e.input, args, true)
}

// CheckOutput validates a result against the output schema of the tool of that
// name. A tool without one may return anything.
func (r *Registry) CheckOutput(name string, output json.RawMessage) error {
	e, ok := r.entries[name]
	if !ok {
		return fmt.Errorf("check output: no tool %q", name)
	}
	return validate(e.output, output, false)
}

// Near returns the registered name that name was probably meant to be, "" when
// none is close. It is for error messages.
func (r *Registry) Near(name string) string { return canon.Near(name, r.names) }

// EffectOfCall is the effect of calling t with args: what [EffectOf] says, where
// t implements it, else the effect of its spec.
func EffectOfCall(t Tool, args json.RawMessage) Effect {
	if of, ok := t.(EffectOf); ok {
		return of.EffectOf(args)
	}
	return t.Spec().Effect
}

func newEntry(t Tool) (*entry, error) {
	spec := t.Spec()
	if err := checkSpec(spec); err != nil {
		return nil, fmt.Errorf("register tool %q: %w", spec.Name, err)
	}
	input, err := compileSchema(spec.Input)
	if err != nil {
		return nil, fmt.Errorf("register tool %q: input schema: %w", spec.Name, err)
	}
	output, err := compileSchema(spec.Output)
	if err != nil {
		return nil, fmt.Errorf("register tool %q: output schema: %w", spec.Name, err)
	}
	spec.Capability = capabilityOf(spec)
	return &entry{tool: t, spec: spec, hash: SpecHash(spec), input: input, output: output}, nil
}

func checkSpec(s Spec) error {
	if !nameGrammar().MatchString(s.Name) {
		return errors.New("a name is 1 to 128 of A-Z a-z 0-9 _ . / - and starts with a letter, a digit or _")
	}
	if !s.Effect.Valid() {
		return fmt.Errorf("effect %q is none of read, idempotent, write", s.Effect)
	}
	if strings.ContainsFunc(s.Capability, func(c rune) bool { return c <= ' ' || c == ',' || c == 0x7f }) {
		return fmt.Errorf("capability %q contains a space, a comma or a control character", s.Capability)
	}
	return nil
}

func nameGrammar() *regexp.Regexp {
	return regexp.MustCompile(`\A[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}\z`)
}

// capabilityOf fills in the default of [Spec.Capability].
func capabilityOf(s Spec) string {
	switch {
	case s.Capability != "":
		return s.Capability
	case s.Effect == Read:
		return CapRead
	default:
		return CapWrite
	}
}
