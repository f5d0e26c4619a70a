package workflow_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/workflow"
)

// editorSchema compiles the schema as a validator does that asserts formats.
func editorSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(workflow.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("workflow.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("workflow.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asWritten is a YAML or JSON document as decoded JSON, with its shorthand.
func asWritten(t interface{ Fatal(...any) }, doc string) any {
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(doc), &node); err != nil {
		t.Fatal(err)
	}
	return valueOf(node.Content[0])
}

func valueOf(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			object[n.Content[i].Value] = valueOf(n.Content[i+1])
		}
		return object
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, valueOf(item))
		}
		return list
	}
	var v any
	if n.ShortTag() == "!!timestamp" {
		return n.Value
	}
	if n.ShortTag() == "!!int" || n.ShortTag() == "!!float" {
		return json.Number(n.Value)
	}
	if n.Decode(&v) != nil {
		return n.Value
	}
	return v
}

func TestSchemaTakesWhatIsValid(t *testing.T) {
	t.Parallel()
	s := editorSchema(t)
	docs := map[string]string{"everything": everything, "everything, canonical": everythingCanonical, "two steps": ab, "untidy": untidy}
	for _, pattern := range []string{"testdata/ten.yaml", "../examples/*/*.yaml", "../examples/*/workflows/*.yaml", "../test/crash/testdata/*.yaml", "../internal/*/testdata/*.yaml", "../internal/cli/*/testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := workflow.Load(file, data); err == nil {
				docs[file] = string(data)
			}
		}
	}
	if len(docs) < 12 {
		t.Fatalf("only %d documents", len(docs))
	}
	for name, doc := range docs {
		if err := s.Validate(asWritten(t, doc)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is wrong only as seen from afar is right in itself.
	for _, m := range slices.Concat(planMistakes(), referenceMistakes(), callMistakes()) {
		doc, _ := unmark(t, m)
		if slices.Contains(inForm(), m.code) {
			continue
		}
		if err := s.Validate(asWritten(t, doc)); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

func TestSchemaTakesAnyDefinition(t *testing.T) {
	t.Parallel()
	s := editorSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		for ref, def := range randdef.Cases(randdef.Config{}).Draw(t, "case").Bundle.Definitions {
			raw, err := def.Canonical()
			if err != nil {
				t.Fatal(err)
			}
			v, err := canon.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(v); err != nil {
				t.Fatalf("%s: %v\n%s", ref, err, raw)
			}
		}
		if err := s.Validate(messyDefinition(t)); err != nil {
			t.Fatal(err)
		}
	})
}

// inForm are the codes of mistakes that can be seen where they stand.
func inForm() []workflow.Code {
	return []workflow.Code{
		workflow.UnsupportedSchema, workflow.MissingIdentity, workflow.UnknownField, workflow.FieldNotAllowed, workflow.MissingField,
		workflow.ConflictingFields, workflow.WrongType, workflow.InvalidValue, workflow.UnknownType, workflow.EmptyID, workflow.InvalidID,
		workflow.InvalidBudget, workflow.EmptyNode, workflow.MalformedReference, workflow.MalformedHandle,
	}
}

func TestSchemaRefusesMistakesOfForm(t *testing.T) {
	t.Parallel()
	s := editorSchema(t)
	elsewhere := []string{ // what takes two places to be seen, or our reading of YAML
		"more agents than steps", "a sleep for a word", "an octal number",
	}
	checked := map[workflow.Code]bool{}
	for _, m := range mistakes() {
		if !slices.Contains(inForm(), m.code) || slices.Contains(elsewhere, m.name) {
			continue
		}
		doc, _ := unmark(t, m)
		checked[m.code] = true
		if err := s.Validate(asWritten(t, doc)); err == nil {
			t.Errorf("%s is taken:\n%s", m.name, doc)
		}
	}
	if len(checked) != len(inForm()) {
		t.Errorf("only %d of %d codes have mistakes", len(checked), len(inForm()))
	}
}

// Every field is described, so that an editor has something to say.
func TestSchemaDescribesEveryField(t *testing.T) {
	t.Parallel()
	v, err := canon.Decode(workflow.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(at, item)
			}
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			_, closed := v["additionalProperties"].(bool)
			for name, p := range properties {
				property, _ := p.(map[string]any)
				if _, constant := property["const"]; closed && !constant && property["description"] == nil {
					t.Errorf("%s/%s is not described: %v", at, name, p)
				}
			}
			for name, inner := range v {
				walk(at+"/"+name, inner)
			}
		}
	}
	walk("", v)
	if strings.Contains(string(workflow.JSONSchema()), "null,") {
		t.Error("a field has no schema")
	}
}

// The copies in docs/schema, which editors can be pointed at, are these.
func TestPublishedSchema(t *testing.T) {
	t.Parallel()
	published, err := os.ReadFile("../docs/schema/workflow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(published), string(workflow.JSONSchema())); diff != "" {
		t.Errorf("docs/schema/workflow.schema.json is not what culm schema prints (-file +code):\n%s", diff)
	}
}
