package schema

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culm-dev/culm/internal/canon"
)

// base is the address that a document gets for as long as it is compiled. It
// only has to be absolute, so that no file or network address can be made of it.
const (
	origin = "culm:///"
	base   = origin + "schema"
)

// dialects are the values of $schema that mean draft 2020-12.
func isDialect(name any) bool {
	switch name {
	case "https://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2020-12/schema#":
		return true
	}
	return false
}

func checkDialect(doc any) []Problem {
	source, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	if name, ok := source["$schema"]; ok && !isDialect(name) {
		return []Problem{{
			At:      "/$schema",
			Message: "only https://json-schema.org/draft/2020-12/schema is supported",
		}}
	}
	return nil
}

// refuse is the loader of documents: there are none.
type refuse struct{}

var errOutside = errors.New("a schema outside this document is never loaded")

func (refuse) Load(string) (any, error) { return nil, errOutside }

func compileAt(doc any, pointer string) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(refuse{})
	if err := c.AddResource(base, doc); err != nil {
		return nil, fmt.Errorf("add schema: %w", err)
	}
	return c.Compile(base + "#" + escapeFragment(pointer))
}

// escapeFragment percent-encodes a pointer, but for its slashes.
func escapeFragment(pointer string) string {
	tokens := strings.Split(pointer, "/")
	for i, token := range tokens {
		tokens[i] = url.PathEscape(token)
	}
	return strings.Join(tokens, "/")
}

// compileProblems says where in the document a compile error is, and what it is.
func compileProblems(doc any, err error) []Problem {
	var invalid *jsonschema.SchemaValidationError
	var cause *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &cause) {
		return valueProblems(cause, nil)
	}
	var re *jsonschema.InvalidRegexError
	if errors.As(err, &re) {
		return []Problem{{At: fragment(re.URL), Message: fmt.Sprintf("not an RE2 pattern: %v", re.Err)}}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		target, _, _ := strings.Cut(load.URL, "#")
		target = strings.TrimPrefix(target, origin)
		at := findReference(doc, "", target)
		return []Problem{{At: at, Message: fmt.Sprintf("%q: %v", target, errOutside)}}
	}
	var missing *jsonschema.JSONPointerNotFoundError
	if errors.As(err, &missing) {
		at := findReference(doc, "", "#"+fragment(missing.URL))
		return []Problem{{At: at, Message: fmt.Sprintf("nothing is at %q", fragment(missing.URL))}}
	}
	var anchor *jsonschema.AnchorNotFoundError
	if errors.As(err, &anchor) {
		_, name, _ := strings.Cut(anchor.Reference, "#")
		at := findReference(doc, "", "#"+name)
		return []Problem{{At: at, Message: fmt.Sprintf("there is no anchor %q", name)}}
	}
	return []Problem{{Message: strings.ReplaceAll(err.Error(), base, "")}}
}

// fragment is the decoded fragment of an address inside the document.
func fragment(address string) string {
	_, f, _ := strings.Cut(address, "#")
	if plain, err := url.PathUnescape(f); err == nil {
		return plain
	}
	return f
}

// findReference finds the first $ref (in the order of sorted names) that names
// the target, whole or up to its fragment. It gives "" when there is none.
func findReference(v any, at, target string) string {
	switch v := v.(type) {
	case map[string]any:
		for _, keyword := range [...]string{"$ref", "$dynamicRef", "$schema"} {
			ref, ok := v[keyword].(string)
			if ok && target != "" && (strings.HasSuffix(ref, target) || strings.HasPrefix(ref, target)) {
				return canon.AppendPointer(at, keyword)
			}
		}
		for _, name := range sortedNames(v) {
			if found := findReference(v[name], canon.AppendPointer(at, name), target); found != "" {
				return found
			}
		}
	case []any:
		for i, item := range v {
			if found := findReference(item, canon.AppendPointer(at, i), target); found != "" {
				return found
			}
		}
	}
	return ""
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
