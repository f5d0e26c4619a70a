package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// maxArgs is how many bytes of arguments are read: what a run may have.
const maxArgs = 8 << 20

// runArgs makes a run's arguments of --args and -a.
func (in *invocation) runArgs(whole string, pairs []string, written json.RawMessage) (json.RawMessage, error) {
	var schema inputSchema
	_ = json.Unmarshal(written, &schema) // a schema that is a boolean says nothing
	args := map[string]json.RawMessage{}
	if whole != "" {
		raw, err := in.jsonFlag("--args", whole)
		if err != nil {
			return nil, err
		}
		if len(pairs) == 0 {
			return raw, nil
		}
		if json.Unmarshal(raw, &args) != nil || args == nil {
			return nil, usage("--args: must be a JSON object where -a adds to it")
		}
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usage("-a %s: expected NAME=VALUE", pair)
		}
		raw, err := argValue(name, value, schema)
		if err != nil {
			return nil, err
		}
		args[name] = raw
	}
	return json.Marshal(args)
}

// inputSchema is what an input schema says about single arguments.
type inputSchema struct {
	Properties map[string]struct {
		Type any   `json:"type"`
		Enum []any `json:"enum"`
	} `json:"properties"`
	Additional any `json:"additionalProperties"`
}

// argValue reads the value of -a: JSON, unless the schema says that the argument
// is a string.
func argValue(name, value string, schema inputSchema) (json.RawMessage, error) {
	if _, known := schema.Properties[name]; !known && schema.Additional == false {
		return nil, noArgument(name, schema)
	}
	if schema.saysString(name) {
		return json.Marshal(value)
	}
	raw, err := canon.Canonicalize([]byte(value))
	if err == nil {
		return raw, nil
	}
	if kind, ok := schema.Properties[name].Type.(string); ok {
		f := usage("-a %s=%s: the value is not JSON, and %s is of type %s", name, value, name, kind)
		return nil, f.help("For example: -a %s", quote(name+"="+exampleOf(kind)))
	}
	text, _ := json.Marshal(value)
	f := usage("-a %s=%s: the value is not JSON, and the workflow does not say that %s is a string", name, value, name)
	return nil, f.help("If a text is meant: -a %s", quote(name+"="+string(text)))
}

func noArgument(name string, schema inputSchema) *Failure {
	f := usage("-a %s: the workflow takes no such argument", name)
	names := slices.Sorted(maps.Keys(schema.Properties))
	if near := canon.Near(name, names); near != "" {
		return f.help("Did you mean %s?", near)
	}
	if len(names) > 0 {
		f.help("It takes: %s", strings.Join(names, ", "))
	}
	return f
}

// exampleOf is a value of a JSON Schema type.
func exampleOf(kind string) string {
	switch kind {
	case "array":
		return `["one", "two"]`
	case "object":
		return `{"name": "value"}`
	case "boolean":
		return "true"
	}
	return "1"
}

// saysString reports whether an argument's schema admits strings by its type, or
// lists nothing but strings.
func (s inputSchema) saysString(name string) bool {
	p := s.Properties[name]
	switch t := p.Type.(type) {
	case string:
		return t == "string"
	case []any:
		return slices.Contains(t, any("string"))
	}
	return len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(v any) bool { _, ok := v.(string); return !ok })
}

// jsonFlag reads a flag's JSON: itself, @FILE, or - for standard input.
func (in *invocation) jsonFlag(flag, value string) (json.RawMessage, error) {
	data, from := []byte(value), flag
	switch path, isFile := strings.CutPrefix(value, "@"); {
	case value == "-":
		var err error
		if data, err = io.ReadAll(io.LimitReader(in.Stdin, maxArgs+1)); err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		from = flag + " -"
	case isFile:
		f, err := os.Open(path)
		if err != nil {
			return nil, usage("%s %s: %v", flag, value, pathless(err))
		}
		defer f.Close()
		if data, err = io.ReadAll(io.LimitReader(f, maxArgs+1)); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		from = flag + " " + value
	}
	if len(data) > maxArgs {
		return nil, usage("%s: more than %d MiB", from, maxArgs>>20)
	}
	raw, err := canon.Canonicalize(data)
	if err != nil {
		f := usage("%s: not JSON: %v", from, err)
		if from == flag {
			f.help("A shell needs quotes around JSON: %s '{\"name\": \"value\"}'. @FILE reads a file, - standard input.", flag)
		}
		return nil, f
	}
	return raw, nil
}

// pathless is an error of opening a file without its path.
func pathless(err error) error {
	var e *os.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
