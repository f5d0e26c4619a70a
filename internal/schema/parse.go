package schema

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culm-dev/culm/internal/canon"
)

// document is a schema document while its parts are parsed. Every part is parsed
// once, so that references that go round in circles end in the same *Schema.
type document struct {
	root  any
	parts map[string]*Schema // by pointer
}

// parse reads the schema at a place of the document. The document is valid
// against the metaschema, so keywords have the shapes that they must have.
func (d *document) parse(pointer string, source any) *Schema {
	if s, ok := d.parts[pointer]; ok {
		return s
	}
	s := &Schema{source: source, root: d.root, rules: rules{types: AllTypes}}
	s.validator = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileAt(d.root, pointer) })
	d.parts[pointer] = s
	switch source := source.(type) {
	case bool:
		s.never = !source
	case map[string]any:
		d.parseTypes(s, source)
		d.parseApplicators(s, pointer, source)
		d.parseObject(s, pointer, source)
		d.parseArray(s, pointer, source)
	}
	return s
}

func (d *document) parseTypes(s *Schema, source map[string]any) {
	switch t := source["type"].(type) {
	case string:
		s.types = typeNamed(t)
	case []any:
		s.types = 0
		for _, name := range t {
			s.types |= typeNamed(name)
		}
	}
	if value, ok := source["const"]; ok {
		s.values = []any{value}
	} else if values, ok := source["enum"].([]any); ok {
		s.values = values
	}
}

func (d *document) parseApplicators(s *Schema, pointer string, source map[string]any) {
	for _, keyword := range [...]string{"$dynamicRef", "if", "dependentSchemas"} {
		if _, ok := source[keyword]; ok {
			s.opaque = true
		}
	}
	if ref, ok := source["$ref"].(string); ok {
		if target := d.resolve(ref); target != nil {
			s.all = append(s.all, target)
		} else {
			s.opaque = true
		}
	}
	s.all = append(s.all, d.parseList(pointer, source, "allOf")...)
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if choice := d.parseList(pointer, source, keyword); len(choice) > 0 {
			s.choices = append(s.choices, choice)
		}
	}
}

func (d *document) parseObject(s *Schema, pointer string, source map[string]any) {
	s.additional = d.parseKeyword(pointer, source, "additionalProperties")
	s.unevaluated = source["unevaluatedProperties"] == false
	for _, name := range asList(source["required"]) {
		if name, ok := name.(string); ok {
			s.required = append(s.required, name)
		}
	}
	if properties, ok := source["properties"].(map[string]any); ok {
		s.properties = make(map[string]*Schema, len(properties))
		for name, property := range properties {
			at := canon.AppendPointer(pointer+"/properties", name)
			s.properties[name] = d.parse(at, property)
		}
	}
	patterns, _ := source["patternProperties"].(map[string]any)
	for expression, property := range patterns {
		re, err := regexp.Compile(expression)
		if err != nil { // the compiler has refused it already
			continue
		}
		at := canon.AppendPointer(pointer+"/patternProperties", expression)
		s.patterns = append(s.patterns, pattern{re, d.parse(at, property)})
	}
	slices.SortFunc(s.patterns, func(a, b pattern) int { return strings.Compare(a.re.String(), b.re.String()) })
}

func (d *document) parseArray(s *Schema, pointer string, source map[string]any) {
	s.prefix = d.parseList(pointer, source, "prefixItems")
	s.items = d.parseKeyword(pointer, source, "items")
	if n, ok := asCount(source["minItems"]); ok {
		s.minItems = n
	}
	if n, ok := asCount(source["maxItems"]); ok {
		s.maxItems = &n
	}
}

func (d *document) parseKeyword(pointer string, source map[string]any, keyword string) *Schema {
	part, ok := source[keyword]
	if !ok {
		return nil
	}
	return d.parse(pointer+"/"+keyword, part)
}

func (d *document) parseList(pointer string, source map[string]any, keyword string) []*Schema {
	var list []*Schema
	for i, part := range asList(source[keyword]) {
		list = append(list, d.parse(canon.AppendPointer(pointer+"/"+keyword, i), part))
	}
	return list
}

// resolve finds the part that a $ref names: the document or a pointer into it.
// Anchors, and documents that change their base with an inner $id, give nil.
func (d *document) resolve(ref string) *Schema {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || rebased(d.root, true) {
		return nil
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	part, ok, err := canon.Lookup(d.root, pointer)
	if err != nil || !ok {
		return nil
	}
	return d.parse(pointer, part)
}

// rebased reports whether a part of the document has an $id of its own.
func rebased(v any, root bool) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["$id"].(string); ok && !root {
			return true
		}
		for _, member := range v {
			if rebased(member, false) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return rebased(item, false) })
	}
	return false
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

func asCount(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(string(n))
	return i, err == nil
}
