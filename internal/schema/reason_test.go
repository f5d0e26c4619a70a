package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/schema"
)

func TestAt(t *testing.T) {
	t.Parallel()
	const (
		closed = `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"},"no":false},"patternProperties":{"^x-":{"type":"integer"}}}`
		open   = `{"type":"object","properties":{"a":{"type":"string"}}}`
	)
	for _, tt := range []struct {
		name, schema, pointer string
		verdict               schema.Verdict
		types                 string
	}{
		{"the whole", open, "", schema.Known, "object"},
		{"declared", closed, "/a", schema.Known, "string"},
		{"undeclared in a closed object", closed, "/b", schema.Excluded, "nothing"},
		{"declared as impossible", closed, "/no", schema.Excluded, "nothing"},
		{"by pattern", closed, "/x-1", schema.Known, "integer"},
		{"undeclared in an open object", open, "/b", schema.Unknown, "anything"},
		{"below a string", open, "/a/b", schema.Excluded, "nothing"},
		{"below what is unknown", open, "/b/c/d", schema.Unknown, "anything"},
		{"below what is excluded", closed, "/b/c", schema.Excluded, "nothing"},
		{"additional properties with a schema", `{"additionalProperties":{"type":"null"},"type":"object"}`, "/x", schema.Known, "null"},
		{"without a type an object is possible", `{"properties":{"a":{"type":"null"}}}`, "/a", schema.Known, "null"},
		{"index of an object", closed, "/0", schema.Excluded, "nothing"},
		{"name in an array", `{"type":"array"}`, "/a", schema.Excluded, "nothing"},
		{"element", `{"type":"array","items":{"type":"number"}}`, "/7", schema.Known, "number"},
		{"element of an open array", `{"type":"array"}`, "/7", schema.Unknown, "anything"},
		{"element behind the last", `{"type":"array","items":{"type":"number"},"maxItems":2}`, "/2", schema.Excluded, "nothing"},
		{"past the end", `{"type":"array","items":{"type":"number"}}`, "/-", schema.Excluded, "nothing"},
		{"tuple", `{"type":"array","prefixItems":[{"type":"null"},{"type":"string"}],"items":false}`, "/1", schema.Known, "string"},
		{"behind a closed tuple", `{"type":"array","prefixItems":[{"type":"null"}],"items":false}`, "/1", schema.Excluded, "nothing"},
		{"behind an open tuple", `{"type":"array","prefixItems":[{"type":"null"}]}`, "/1", schema.Unknown, "anything"},
		{"empty schema", `{}`, "/a", schema.Unknown, "anything"},
		{"true", `true`, "/a", schema.Unknown, "anything"},
		{"false", `false`, "/a", schema.Excluded, "nothing"},
		{"const", `{"const":{"a":[1]}}`, "/a/0", schema.Known, "integer"},
		{"not in const", `{"const":{"a":[1]}}`, "/b", schema.Excluded, "nothing"},
		{"enum", `{"enum":[{"a":1},{"a":"x"},3]}`, "/a", schema.Known, "integer or string"},
		{"reference", `{"$ref":"#/$defs/d","$defs":{"d":` + closed + `}}`, "/a", schema.Known, "string"},
		{"reference excludes", `{"$ref":"#/$defs/d","$defs":{"d":` + closed + `}}`, "/b", schema.Excluded, "nothing"},
		{"escaped reference", `{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":` + closed + `}}`, "/b", schema.Excluded, "nothing"},
		{"recursive reference", `{"type":"object","additionalProperties":false,"properties":{"next":{"$ref":"#"}}}`, "/next/next/next", schema.Known, "object"},
		{"recursive reference excludes", `{"type":"object","additionalProperties":false,"properties":{"next":{"$ref":"#"}}}`, "/next/next/x", schema.Excluded, "nothing"},
		{"anchors are not followed", `{"$ref":"#d","$defs":{"d":{"$anchor":"d","type":"null"}}}`, "/a", schema.Unknown, "anything"},
		{"allOf joins", `{"allOf":[{"properties":{"a":{"type":["string","null"]}}},{"properties":{"a":{"type":["null","array"]}}}]}`, "/a", schema.Known, "null"},
		{"allOf excludes", `{"allOf":[` + open + `,` + closed + `]}`, "/b", schema.Excluded, "nothing"},
		{"anyOf of known", `{"anyOf":[{"type":"object","properties":{"a":{"type":"null"}}},` + closed + `]}`, "/a", schema.Known, "null or string"},
		{"anyOf with an open one", `{"anyOf":[{"type":"object"},` + closed + `]}`, "/a", schema.Unknown, "anything"},
		{"anyOf with an impossible one", `{"anyOf":[{"type":"string"},` + closed + `]}`, "/a", schema.Known, "string"},
		{"anyOf of impossible ones", `{"anyOf":[{"type":"string"},` + closed + `]}`, "/b", schema.Excluded, "nothing"},
		{"oneOf of impossible ones", `{"oneOf":[{"type":"null"},{"type":"array","items":{"type":"null"}}]}`, "/b", schema.Excluded, "nothing"},
		{"the object knows beside anyOf", `{"type":"object","properties":{"a":{"type":"null"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, "/a", schema.Known, "null"},
		{"conditions are not looked into", `{"type":"object","if":{"required":["a"]},"then":{"properties":{"a":{"type":"null"}}}}`, "/a", schema.Unknown, "anything"},
		{"unevaluated", `{"type":"object","properties":{"a":{"type":"null"}},"unevaluatedProperties":false}`, "/b", schema.Excluded, "nothing"},
		{"unevaluated beside others", `{"type":"object","allOf":[{"properties":{"b":true}}],"unevaluatedProperties":false}`, "/c", schema.Unknown, "anything"},
		{"malformed pointer", open, "a", schema.Excluded, "nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, verdict := compile(t, tt.schema).At(tt.pointer)
			if verdict != tt.verdict || got.Types().String() != tt.types {
				t.Errorf("got verdict %d of type %s, want %d of type %s", verdict, got.Types(), tt.verdict, tt.types)
			}
		})
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, want string }{
		{`true`, "anything"}, {`{}`, "anything"}, {`false`, "nothing"}, {`{"minLength":1}`, "anything"},
		{`{"type":"integer"}`, "integer"}, {`{"type":"number"}`, "number"}, {`{"type":["integer","number"]}`, "number"},
		{`{"type":["null","boolean","string"]}`, "null or boolean or string"},
		{`{"const":1.5}`, "number"}, {`{"const":1.0}`, "integer"}, {`{"enum":[true,null]}`, "null or boolean"},
		{`{"type":"string","enum":["a",1]}`, "string"}, {`{"type":"string","const":1}`, "nothing"},
		{`{"allOf":[{"type":["string","null"]},{"type":["null","array"]}]}`, "null"},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "null or string"}, {`{"anyOf":[{"type":"string"},{}]}`, "anything"},
		{`{"type":"string","oneOf":[{"type":"string"},{"type":"null"}]}`, "string"},
		{`{"$ref":"#/$defs/b","$defs":{"b":{"type":"boolean"}}}`, "boolean"},
		{`{"$ref":"#"}`, "anything"},
		{`{"not":{"type":"string"}}`, "anything"},
	} {
		s := compile(t, tt.schema)
		if got := s.Types().String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.schema, got, tt.want)
		}
	}
	if s := compile(t, `{"type":"integer"}`); !s.MustBe(schema.NumberType) || !s.MustBe(schema.IntegerType) || s.MayBe(schema.StringType) {
		t.Error("an integer is a number")
	}
	if s := compile(t, `{"type":"number"}`); s.MustBe(schema.IntegerType) || !s.MayBe(schema.IntegerType) {
		t.Error("a number may be an integer")
	}
	if compile(t, `false`).MustBe(schema.BooleanType) {
		t.Error("what cannot be must be nothing")
	}
	var unknown *schema.Schema
	if unknown.Types() != schema.AllTypes || unknown.Validate(1) != nil || string(unknown.Raw()) != "true" {
		t.Error("nil must be the schema of which nothing is known")
	}
	if _, verdict := unknown.At("/a"); verdict != schema.Unknown {
		t.Error("nil must know nothing")
	}
}

func TestWhatObjectsDeclare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schema   string
		names    []string
		required []string
		closed   bool
	}{
		{`{}`, []string{}, []string{}, false},
		{`{"type":"object","properties":{"b":true,"a":true,"no":false},"required":["b"]}`, []string{"a", "b"}, []string{"b"}, false},
		{`{"type":"object","properties":{"a":true},"additionalProperties":false}`, []string{"a"}, []string{}, true},
		{`{"allOf":[{"properties":{"a":true},"required":["a"]},{"$ref":"#/$defs/d"}],"$defs":{"d":{"properties":{"b":true},"additionalProperties":false,"required":["b"]}}}`,
			[]string{"a", "b"}, []string{"a", "b"}, true},
		{`{"anyOf":[{"type":"object","properties":{"a":true},"required":["a","x"],"additionalProperties":false},{"type":"object","properties":{"b":true},"required":["x"]},{"type":"null"}]}`,
			[]string{"a", "b"}, []string{"x"}, false},
		{`{"anyOf":[{"type":"object","properties":{"a":true},"additionalProperties":false},{"type":"null"}]}`, []string{"a"}, []string{}, true},
		{`{"const":{"k":1}}`, []string{"k"}, []string{}, true},
		{`{"type":"string","additionalProperties":false}`, []string{}, []string{}, false},
	} {
		s := compile(t, tt.schema)
		if diff := cmp.Diff(tt.names, s.Names()); diff != "" {
			t.Errorf("%s: names: %s", tt.schema, diff)
		}
		if diff := cmp.Diff(tt.required, s.Required()); diff != "" {
			t.Errorf("%s: required: %s", tt.schema, diff)
		}
		if s.Closed() != tt.closed {
			t.Errorf("%s: closed is %v", tt.schema, s.Closed())
		}
	}
}

func TestItemsAndAdditional(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, items, additional string }{
		{`{}`, "anything", "anything"},
		{`{"type":"array","items":{"type":"string"}}`, "string", "nothing"},
		{`{"type":"array","prefixItems":[{"type":"null"}],"items":{"type":"string"}}`, "null or string", "nothing"},
		{`{"type":"array","prefixItems":[{"type":"null"}]}`, "anything", "nothing"},
		{`{"type":"array","prefixItems":[{"type":"null"},{"type":"string"}],"maxItems":1}`, "null", "nothing"},
		{`{"type":"array","items":false}`, "nothing", "nothing"},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, "nothing", "integer"},
		{`{"type":"object","properties":{"a":true},"additionalProperties":false}`, "nothing", "nothing"},
	} {
		s := compile(t, tt.schema)
		if got := s.Items().Types().String(); got != tt.items {
			t.Errorf("%s: items are %s, want %s", tt.schema, got, tt.items)
		}
		if additional, _ := s.Additional(); additional.Types().String() != tt.additional {
			t.Errorf("%s: additional is %s, want %s", tt.schema, additional.Types(), tt.additional)
		}
	}
}

// Schemas whose alternatives multiply must not take for ever.
func TestReasoningIsBounded(t *testing.T) {
	t.Parallel()
	var defs []string
	for _, name := range strings.Split("abcdefghij", "") {
		defs = append(defs, `"`+name+`":{"anyOf":[`+strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/a"},{"$ref":"#/$defs/j"},`, 5), ",")+`]}`)
	}
	s := compile(t, `{"$ref":"#/$defs/a","$defs":{`+strings.Join(defs, ",")+`}}`)
	if _, verdict := s.At("/x/y/z"); verdict != schema.Unknown {
		t.Errorf("verdict %v", verdict)
	}
	if s.Types() != schema.AllTypes {
		t.Errorf("types %s", s.Types())
	}
	s.Names()
	s.Required()
	s.Closed()
}

func TestConstructors(t *testing.T) {
	t.Parallel()
	object := compile(t, `{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`)
	for _, tt := range []struct {
		name      string
		schema    *schema.Schema
		raw       string
		good, bad []string
	}{
		{"any", schema.Any(), `true`, []string{`1`, `null`}, nil},
		{"never", schema.Never(), `false`, nil, []string{`1`, `null`}},
		{"null", schema.Null(), `{"type":"null"}`, []string{`null`}, []string{`0`}},
		{"string", schema.String(), `{"type":"string"}`, []string{`""`}, []string{`0`}},
		{"boolean", schema.Boolean(), `{"type":"boolean"}`, []string{`false`}, []string{`0`}},
		{"types", schema.OfTypes(schema.IntegerType | schema.NullType), `{"type":["null","integer"]}`, []string{`1`, `null`}, []string{`1.5`}},
		{"any of none", schema.AnyOf(), `false`, nil, []string{`1`}},
		{"any of", schema.AnyOf(schema.Null(), object), `{"anyOf":[{"type":"null"},` + string(object.Raw()) + `]}`,
			[]string{`null`, `{"n":1}`}, []string{`1`, `{"n":"x"}`, `{"m":1}`}},
		{"any of with nil", schema.AnyOf(schema.Null(), nil), `{"anyOf":[{"type":"null"},true]}`, []string{`1`}, nil},
		{"array", schema.ArrayOf(object), `{"items":` + string(object.Raw()) + `,"type":"array"}`,
			[]string{`[]`, `[{"n":1}]`}, []string{`{}`, `[1]`}},
		{"array of nil", schema.ArrayOf(nil), `{"items":true,"type":"array"}`, []string{`[1]`}, []string{`1`}},
		{"tuple", schema.Tuple(schema.Null(), nil), `{"items":false,"minItems":2,"prefixItems":[{"type":"null"},true],"type":"array"}`,
			[]string{`[null,1]`}, []string{`[null]`, `[1,1]`, `[null,1,1]`}},
		{"error union", schema.ErrorUnion(object), "", []string{`{"n":1}`, `{"error":{"code":"x","message":"m","retryable":true}}`},
			[]string{`{"error":1}`, `{"error":{"code":"x"}}`, `{"error":{"code":"x","message":"m"},"n":1}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw := string(tt.schema.Raw())
			if tt.raw != "" && raw != tt.raw {
				t.Errorf("Raw is %s, want %s", raw, tt.raw)
			}
			again := compile(t, raw) // what Raw says must mean the same
			for _, value := range tt.good {
				if err := tt.schema.Validate(decode(t, value)); err != nil {
					t.Errorf("%s: %v", value, err)
				}
				if err := again.Validate(decode(t, value)); err != nil {
					t.Errorf("as JSON, %s: %v", value, err)
				}
			}
			for _, value := range tt.bad {
				if tt.schema.Validate(decode(t, value)) == nil {
					t.Errorf("%s was taken", value)
				}
				if again.Validate(decode(t, value)) == nil {
					t.Errorf("as JSON, %s was taken", value)
				}
			}
		})
	}
}

func TestErrorUnionKnowsBothForms(t *testing.T) {
	t.Parallel()
	s := schema.ErrorUnion(compile(t, `{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`))
	for pointer, want := range map[string]string{"/n": "integer", "/error": "object", "/error/code": "string", "/error/code/x": "nothing", "/m": "nothing"} {
		if got, _ := s.At(pointer); got.Types().String() != want {
			t.Errorf("%s is %s, want %s", pointer, got.Types(), want)
		}
	}
	if !s.MustBe(schema.ObjectType) || schema.ErrorUnion(schema.String()).MustBe(schema.StringType) {
		t.Error("the types of both forms count")
	}
	if !schema.ErrorUnion(nil).MayBe(schema.NullType) {
		t.Error("of an unknown output everything may be")
	}
}

// Reasoning is sound: what a schema takes, no answer excludes.
func TestWhatIsExcludedIsImpossible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source, err := canon.Encode(drawSchema(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		s, problems := schema.Compile(source)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", source, problems)
		}
		value, err := canon.Encode(drawValue(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		v, err := canon.Decode(value)
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) != nil {
			return
		}
		checkSound(t, s, v, "")
	})
}

func checkSound(t *rapid.T, s *schema.Schema, v any, at string) {
	if !s.Types().Has(schema.TypesOf(v)) {
		t.Fatalf("%s takes %v at %q, but has types %s", s.Raw(), v, at, s.Types())
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.Required() {
			if _, ok := v[name]; !ok {
				t.Fatalf("%s takes %v at %q without the required %q", s.Raw(), v, at, name)
			}
		}
		for name, member := range v {
			checkChild(t, s, member, at, name)
		}
	case []any:
		for _, item := range v {
			if !s.Items().Types().Has(schema.TypesOf(item)) {
				t.Fatalf("%s takes %v at %q, but has items %s", s.Raw(), v, at, s.Items().Types())
			}
		}
		for i, item := range v {
			checkChild(t, s, item, at, strings.TrimPrefix(canon.AppendPointer("", i), "/"))
		}
	}
}

func checkChild(t *rapid.T, s *schema.Schema, v any, at, token string) {
	child, verdict := s.Child(token)
	at = canon.AppendPointer(at, token)
	if verdict == schema.Excluded {
		t.Fatalf("%s takes %v at %q, which it excludes", s.Raw(), v, at)
	}
	if err := child.Validate(v); err != nil {
		t.Fatalf("%s takes %v at %q, but the part %s does not: %v", s.Raw(), v, at, child.Raw(), err)
	}
	checkSound(t, child, v, at)
}

func drawValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 8).Draw(t, "kind of value")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return json.Number(rapid.SampledFrom([]string{"0", "1", "1.5"}).Draw(t, "number"))
	case 3, 4:
		return rapid.SampledFrom([]string{"", "a"}).Draw(t, "string")
	case 5:
		list := make([]any, rapid.IntRange(0, 2).Draw(t, "length"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		object[rapid.SampledFrom([]string{"a", "b", "0"}).Draw(t, "name")] = drawValue(t, depth-1)
	}
	return object
}

func drawSchema(t *rapid.T, depth int) any {
	if depth == 0 {
		return rapid.SampledFrom([]any{
			true, false, map[string]any{"type": "integer"}, map[string]any{"type": "string"}, map[string]any{"type": "null"},
		}).Draw(t, "leaf")
	}
	s := map[string]any{}
	draw := func(keyword string, value func() any) {
		if rapid.IntRange(0, 5).Draw(t, keyword) == 0 {
			s[keyword] = value()
		}
	}
	sub := func() any { return drawSchema(t, depth-1) }
	list := func() any { return []any{sub(), sub()} }
	named := func() any { return map[string]any{"a": sub(), "b": sub()} }
	draw("type", func() any {
		return rapid.SampledFrom([]any{"object", "array", "number", []any{"object", "array", "string"}}).Draw(t, "types")
	})
	draw("properties", named)
	draw("patternProperties", func() any { return map[string]any{"^[a0]": sub()} })
	draw("additionalProperties", sub)
	draw("unevaluatedProperties", func() any { return false })
	draw("required", func() any { return []any{"a"} })
	draw("prefixItems", list)
	draw("items", sub)
	draw("maxItems", func() any { return 1 })
	draw("allOf", list)
	draw("anyOf", list)
	draw("oneOf", list)
	draw("enum", func() any { return []any{drawValue(t, 2), drawValue(t, 2)} })
	draw("$ref", func() any { return "#/$defs/d" })
	draw("if", sub)
	s["$defs"] = map[string]any{"d": map[string]any{"properties": map[string]any{"a": map[string]any{"type": "string"}}}}
	if depth < 3 {
		delete(s, "$defs")
	}
	return s
}
