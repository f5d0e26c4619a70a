package expr

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// form is how one kind of reference is written.
type form struct {
	kind     Kind
	required []string // beside from
	optional []string
}

// formOf tells which form an object means to have, or nil for data.
func formOf(object map[string]any) *form {
	switch object["from"] {
	case string(Args):
		return &form{Args, nil, []string{"pointer", "default"}}
	case string(Step):
		return &form{Step, []string{"step"}, []string{"pointer", "default"}}
	case string(Previous):
		return &form{Previous, []string{"step"}, []string{"pointer", "default"}}
	case string(Item):
		return &form{Item, []string{"name"}, []string{"pointer", "default"}}
	case string(Outcome):
		return &form{Outcome, nil, []string{"pointer", "default"}}
	case string(Run):
		return &form{Run, nil, []string{"pointer"}}
	case string(Literal):
		return &form{Literal, []string{"value"}, nil}
	}
	if _, ok := object["$secret"]; ok {
		return &form{kind: Secret}
	}
	if len(object) != 1 {
		return nil
	}
	if _, ok := object["text"].([]any); ok {
		return &form{kind: Text}
	}
	if _, ok := object["cel"].(string); ok {
		return &form{kind: CEL}
	}
	return nil
}

// runFacts are what a reference of kind run may point at.
func runFacts() []string {
	return []string{"run_id", "root_run_id", "created_at", "step_id", "attempt", "idempotency_key"}
}

func (p *parser) reference(f *form, object map[string]any, at string) *Ref {
	ref := &Ref{Kind: f.kind, At: at}
	switch f.kind {
	case Secret:
		p.handle(ref, object)
	case Text:
		p.text(ref, object["text"].([]any))
	case CEL:
		ref.Source = object["cel"].(string)
		p.expression(ref)
	default:
		p.members(f, object, at)
		p.fields(ref, object)
	}
	return ref
}

func (p *parser) malformed(at, message string) {
	p.report(CodeMalformedReference, at, message,
		`to pass the object as data, write {"from": "literal", "value": ...}`)
}

// members checks which members a reference with a from has.
func (p *parser) members(f *form, object map[string]any, at string) {
	allowed := slices.Concat([]string{"from"}, f.required, f.optional)
	for _, name := range sortedNames(object) {
		if slices.Contains(allowed, name) {
			continue
		}
		message := fmt.Sprintf("a reference from %q has no member %q", f.kind, name)
		if near := canon.Near(name, allowed); near != "" {
			message += fmt.Sprintf(", did you mean %q?", near)
		} else {
			message += ", only " + strings.Join(allowed, ", ")
		}
		p.malformed(canon.AppendPointer(at, name), message)
	}
	for _, name := range f.required {
		if _, ok := object[name]; !ok {
			p.malformed(at, fmt.Sprintf("a reference from %q needs the member %q", f.kind, name))
		}
	}
}

// fields fills the reference from its members, those that it may have.
func (p *parser) fields(ref *Ref, object map[string]any) {
	switch ref.Kind {
	case Literal:
		ref.value = object["value"]
		ref.Value = encoded(ref.value)
		return
	case Step, Previous:
		ref.Name = p.name(ref, object, "step")
	case Item:
		ref.Name = p.name(ref, object, "name")
	}
	p.pointer(ref, object)
	if fallback, ok := object["default"]; ok && ref.Kind != Run {
		ref.fallback = fallback
		ref.Default = encoded(fallback)
	}
}

func (p *parser) name(ref *Ref, object map[string]any, member string) string {
	value, ok := object[member]
	if !ok {
		return "" // reported as missing
	}
	name, ok := value.(string)
	if !ok || name == "" {
		p.malformed(canon.AppendPointer(ref.At, member), fmt.Sprintf("%q must be a name", member))
	}
	return name
}

func (p *parser) pointer(ref *Ref, object map[string]any) {
	value, ok := object["pointer"]
	if !ok {
		return
	}
	at := ref.At + "/pointer"
	pointer, ok := value.(string)
	if !ok {
		p.malformed(at, `"pointer" must be a string`)
		return
	}
	if _, err := canon.Tokens(pointer); err != nil {
		p.malformed(at, err.Error())
		return
	}
	ref.Pointer = pointer
	if ref.Kind != Run || pointer == "" || slices.Contains(runFacts(), pointer[1:]) {
		return
	}
	message := fmt.Sprintf("a run has no %s, only /%s", pointer, strings.Join(runFacts(), ", /"))
	if near := canon.Near(pointer[1:], runFacts()); near != "" {
		message = fmt.Sprintf("a run has no %s, did you mean /%s?", pointer, near)
	}
	p.malformed(at, message)
}

func (p *parser) text(ref *Ref, parts []any) {
	for i, part := range parts {
		at := canon.AppendPointer(ref.At+"/text", i)
		t := p.parse(part, at)
		if _, isString := part.(string); !isString && t.ref == nil {
			p.malformed(at, "a part of a text must be a string or a reference")
		}
		ref.Parts = append(ref.Parts, t)
	}
}

func (p *parser) handle(ref *Ref, object map[string]any) {
	name, ok := object["$secret"].(string)
	if !ok || name == "" || len(object) > 1 {
		p.report(CodeMalformedHandle, ref.At, `a secret's handle is exactly {"$secret": "name"}`,
			`to pass the object as data, write {"from": "literal", "value": ...}`)
	}
	ref.Name = name
}

// encoded writes what was decoded from JSON, which cannot fail.
func encoded(v any) json.RawMessage {
	raw, err := canon.Encode(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}
