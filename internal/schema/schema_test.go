package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/schema"
)

func compile(t testing.TB, raw string) *schema.Schema {
	t.Helper()
	s, problems := schema.Compile(json.RawMessage(raw))
	if len(problems) > 0 {
		t.Fatalf("schema %s: %v", raw, problems)
	}
	return s
}

func decode(t testing.TB, raw string) any {
	t.Helper()
	v, err := canon.Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCompileNamesThePlaceAndTheProblem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, schema, at, message string }{
		{"no JSON", `{"type":`, "", "decode JSON"},
		{"neither object nor boolean", `"string"`, "", "must be boolean or object, not string"},
		{"unknown type", `{"properties":{"a":{"type":"strnig"}}}`, "/properties/a/type", "must be one of"},
		{"wrong keyword type", `{"required":"a"}`, "/required", "must be array, not string"},
		{"negative length", `{"items":{"minLength":-1}}`, "/items/minLength", "at least 0"},
		{"pattern that is no RE2", `{"properties":{"a":{"pattern":"(?=x)"}}}`, "/properties/a/pattern", ""},
		{"file", `{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "/properties/a/$ref", "never loaded"},
		{"relative file", `{"items":{"$ref":"other.json"}}`, "/items/$ref", "never loaded"},
		{"network", `{"allOf":[{"$ref":"https://example.com/x.json"}]}`, "/allOf/0/$ref", "never loaded"},
		{"missing definition", `{"$ref":"#/$defs/a"}`, "/$ref", "nothing is at"},
		{"missing anchor", `{"$ref":"#a"}`, "/$ref", "anchor"},
		{"other dialect", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, "/$schema", "2020-12"},
		{"duplicate name", `{"type":"string","type":"null"}`, "", "duplicate name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, problems := schema.Compile(json.RawMessage(tt.schema))
			if s != nil || len(problems) == 0 {
				t.Fatalf("got schema %v, problems %v", s, problems)
			}
			if problems[0].At != tt.at || !strings.Contains(problems[0].Message, tt.message) {
				t.Errorf("got %+v, want at %q a message with %q", problems[0], tt.at, tt.message)
			}
			if strings.Contains(problems[0].Message, "\n") || strings.Contains(problems[0].Message, "culm:///") {
				t.Errorf("the message is not fit to be shown: %q", problems[0].Message)
			}
		})
	}
}

func TestCompileTakes(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`true`, `false`, `{}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`,
		`{"$id":"https://example.com/me","$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`,
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
		`{"properties":{"token":{"type":"string","x-secret":true}},"x-anything":{"a":1}}`,
		`{"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}},"$ref":"#/$defs/node"}`,
	} {
		s := compile(t, raw)
		want, err := canon.Canonicalize([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(s.Raw())); diff != "" {
			t.Errorf("Raw: %s", diff)
		}
	}
}

func TestValidateNamesAllProblems(t *testing.T) {
	t.Parallel()
	const person = `{"type":"object","required":["name","age"],"additionalProperties":false,"properties":{
		"name":{"type":"string","minLength":1,"maxLength":5},"age":{"type":"integer","minimum":0,"exclusiveMaximum":150.5},
		"mail":{"type":"string","format":"email"},"code":{"pattern":"^[a-z]+$"},"role":{"enum":["admin","user",1]},
		"tags":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true}}}`
	for _, tt := range []struct {
		name, schema, value string
		want                []schema.Problem
	}{
		{"valid", person, `{"name":"Ann","age":3}`, nil},
		{"an integer may be written as a fraction", person, `{"name":"Ann","age":3.0}`, nil},
		{"a long id keeps its digits", `{"const":9007199254740993}`, `9007199254740992`, []schema.Problem{{"", "must be 9007199254740993"}}},
		{"several", person, `{"name":"","nam":1,"age":1.5,"tags":["a",2]}`, []schema.Problem{
			{"/age", "must be integer, not number"},
			{"/nam", `unknown property "nam", did you mean "name"?`},
			{"/name", "must have at least 1 characters, has 0"},
			{"/tags/1", "must be string, not number"},
		}},
		{"missing", person, `{}`, []schema.Problem{{"", `missing property "age"`}, {"", `missing property "name"`}}},
		{"bounds", person, `{"name":"Annabel","age":151,"tags":["a","a"]}`, []schema.Problem{
			{"/age", "must be less than 150.5"}, {"/name", "must have at most 5 characters, has 7"}, {"/tags", "items 0 and 1 are equal"},
		}},
		{"formats and patterns", person, `{"name":"A","age":-1,"mail":"x","code":"7","role":"root"}`, []schema.Problem{
			{"/age", "must be at least 0"}, {"/code", "must match the pattern ^[a-z]+$"}, {"/mail", "must be a valid email"},
			{"/role", `must be one of "admin", "user", 1`},
		}},
		{"wrong type of the whole", person, `[]`, []schema.Problem{{"", "must be object, not array"}}},
		{"none of several", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, []schema.Problem{
			{"", "matches none of the allowed forms: must be string, not number; or must be null, not number"},
		}},
		{"the form that was meant", `{"oneOf":[{"type":"string"},{"type":"object","required":["a"]}]}`, `{}`, []schema.Problem{
			{"", `missing property "a"`},
		}},
		{"more than one", `{"oneOf":[{"type":"string"},{"minLength":1}]}`, `"x"`, []schema.Problem{
			{"", "matches more than one of the forms of which it must match one"},
		}},
		{"reference", `{"$defs":{"n":{"type":"null"}},"properties":{"a/b":{"$ref":"#/$defs/n"}}}`, `{"a/b":1}`, []schema.Problem{
			{"/a~1b", "must be null, not number"},
		}},
		{"nothing", `{"properties":{"a":false}}`, `{"a":1}`, []schema.Problem{{"/a", "nothing is allowed here"}}},
		{"not", `{"not":{"type":"string"}}`, `"x"`, []schema.Problem{{"", "has a form that is not allowed"}}},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, []schema.Problem{{"", "must have an item of the required form, has none"}}},
		{"names", `{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, []schema.Problem{{"/ab", "the name of this property is not allowed"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := compile(t, tt.schema).Validate(decode(t, tt.value))
			if tt.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var invalid *schema.Invalid
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want problems", err)
			}
			if diff := cmp.Diff(tt.want, invalid.Problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInvalidIsOneLine(t *testing.T) {
	t.Parallel()
	err := compile(t, `{"type":"object","required":["b"],"properties":{"a":{"type":"string"}}}`).Validate(decode(t, `{"a":1}`))
	if want := `missing property "b"; /a: must be string, not number`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A value may be secret, so messages speak of the schema only.
func TestMessagesDoNotRepeatTheValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2hunter2"
	for _, raw := range []string{
		`{"const":"a"}`, `{"enum":["a"]}`, `{"pattern":"^a$"}`, `{"format":"date-time"}`, `{"format":"ipv4"}`, `{"maxLength":1}`,
		`{"type":"null"}`, `{"not":{}}`, `false`, `{"anyOf":[{"type":"null"},{"format":"uri"}]}`, `{"format":"regex","pattern":"^b"}`,
	} {
		err := compile(t, raw).Validate(secret)
		if err == nil {
			t.Errorf("%s took the value", raw)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestPartsOfADocumentValidate(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"$defs":{"size":{"type":"integer","minimum":1}},"properties":{"a":{"type":"array","items":{"$ref":"#/$defs/size"}}}}`)
	part, verdict := s.At("/a/0")
	if verdict != schema.Known {
		t.Fatalf("verdict %v", verdict)
	}
	if err := part.Validate(decode(t, `0`)); err == nil {
		t.Error("0 was taken")
	}
	if err := part.Validate(decode(t, `1`)); err != nil {
		t.Error(err)
	}
	// What a part says of itself stands on its own.
	items, _ := s.At("/a")
	again := compile(t, string(items.Raw()))
	if err := again.Validate(decode(t, `[0]`)); err == nil {
		t.Errorf("%s took [0]", items.Raw())
	}
}

func TestDefaultTakesAnyObject(t *testing.T) {
	t.Parallel()
	s := schema.Default()
	if want := `{"additionalProperties":true,"type":"object"}`; string(s.Raw()) != want {
		t.Errorf("Raw is %s", s.Raw())
	}
	if err := s.Validate(decode(t, `{"a":[1]}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate(decode(t, `[]`)); err == nil {
		t.Error("an array was taken")
	}
	if _, verdict := s.At("/a"); verdict != schema.Unknown {
		t.Errorf("verdict %v", verdict)
	}
	if !s.MustBe(schema.ObjectType) || s.Closed() {
		t.Error("want an open object")
	}
}
