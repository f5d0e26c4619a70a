package tool

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/culm-dev/culm/internal/canon"
)

// schemaURL names the one document that a schema may refer to: itself.
const schemaURL = "culm:///schema.json"

// noLoader refuses every reference to another document, so that a schema can
// make nobody read a file or ask a server.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema must be one document, it refers to %q", url)
}

// compileSchema compiles a JSON Schema; nil stays nil.
func compileSchema(schema json.RawMessage) (*jsonschema.Schema, error) {
	if schema == nil {
		return nil, nil
	}
	doc, err := canon.Decode(schema)
	if err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, fmt.Errorf("add schema: %w", err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return compiled, nil
}

// validate checks a JSON value. Without a schema it must be an object if
// wantObject, else it may be anything.
func validate(schema *jsonschema.Schema, value json.RawMessage, wantObject bool) error {
	if value == nil {
		value = json.RawMessage("null")
	}
	v, err := canon.Decode(value)
	if err != nil {
		return fmt.Errorf("parse value: %w", err)
	}
	if schema != nil {
		return schema.Validate(v)
	}
	if _, isObject := v.(map[string]any); wantObject && !isObject {
		return errors.New("arguments must be an object")
	}
	return nil
}
