package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/culm-dev/culm/tool"
)

// fake is a tool with any spec.
type fake tool.Spec

func (f fake) Spec() tool.Spec { return tool.Spec(f) }

func (f fake) Call(context.Context, tool.Call) (tool.Result, error) { return tool.Text("ok"), nil }

func TestRegistryRefusesBadTools(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tools []tool.Tool
		want  string
	}{
		"nil":                   {[]tool.Tool{nil}, "nil"},
		"no name":               {[]tool.Tool{fake{Effect: tool.Read}}, "name"},
		"a bad name":            {[]tool.Tool{fake{Name: "a b", Effect: tool.Read}}, "name"},
		"a name with a newline": {[]tool.Tool{fake{Name: "a\n", Effect: tool.Read}}, "name"},
		"a long name":           {[]tool.Tool{fake{Name: strings.Repeat("a", 129), Effect: tool.Read}}, "name"},
		"no effect":             {[]tool.Tool{fake{Name: "a"}}, "effect"},
		"a bad effect":          {[]tool.Tool{fake{Name: "a", Effect: "maybe"}}, "effect"},
		"a bad capability":      {[]tool.Tool{fake{Name: "a", Effect: tool.Read, Capability: "a,b"}}, "capability"},
		"a name twice":          {[]tool.Tool{fake{Name: "a", Effect: tool.Read}, fake{Name: "a", Effect: tool.Write}}, "taken"},
		"a schema, no JSON":     {[]tool.Tool{fake{Name: "a", Effect: tool.Read, Input: json.RawMessage(`{`)}}, "input schema"},
		"a schema, no schema":   {[]tool.Tool{fake{Name: "a", Effect: tool.Read, Output: json.RawMessage(`{"type":"nonsense"}`)}}, "output schema"},
		"a schema from a file":  {[]tool.Tool{fake{Name: "a", Effect: tool.Read, Input: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)}}, "one document"},
		"a schema from the net": {[]tool.Tool{fake{Name: "a", Effect: tool.Read, Input: json.RawMessage(`{"$ref":"https://example.org/s.json"}`)}}, "one document"},
	} {
		_, err := tool.NewRegistry(tc.tools...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, tc.want)
		}
	}
	_, err := tool.NewRegistry(fake{Name: "first"}, fake{Name: "second"})
	if err == nil || !strings.Contains(err.Error(), "first") || !strings.Contains(err.Error(), "second") {
		t.Errorf("not all errors at once: %v", err)
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry(
		fake{Name: "write_file", Effect: tool.Write, Input: json.RawMessage(`{"type":"object","required":["path"]}`)},
		fake{Name: "read_file", Effect: tool.Read, Output: json.RawMessage(`{"type":"string"}`)},
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Names(), " "); got != "read_file write_file" {
		t.Errorf("names: %s", got)
	}
	if got, ok := r.Lookup("read_file"); !ok || got.Spec().Name != "read_file" {
		t.Errorf("lookup: %v, %t", got, ok)
	}
	if _, ok := r.Lookup("nope"); ok {
		t.Error("found what is not there")
	}
	for name, want := range map[string]string{"read_fiel": "read_file", "readfile": "read_file", "Write_File": "write_file", "deploy": ""} {
		if got := r.Near(name); got != want {
			t.Errorf("near %q is %q, want %q", name, got, want)
		}
	}
	for _, tc := range []struct {
		check func(string, json.RawMessage) error
		name  string
		value string
		ok    bool
	}{
		{r.CheckInput, "write_file", `{"path":1}`, true},
		{r.CheckInput, "write_file", `{}`, false},
		{r.CheckInput, "read_file", `{"any":1}`, true},
		{r.CheckInput, "read_file", `[]`, false},
		{r.CheckInput, "nope", `{}`, false},
		{r.CheckOutput, "read_file", `"text"`, true},
		{r.CheckOutput, "read_file", `1`, false},
		{r.CheckOutput, "write_file", `null`, true},
	} {
		if err := tc.check(tc.name, json.RawMessage(tc.value)); (err == nil) != tc.ok {
			t.Errorf("%s %s: %v", tc.name, tc.value, err)
		}
	}
}

func TestSpecHashPinsWhatMatters(t *testing.T) {
	t.Parallel()
	base := tool.Spec{Name: "t", Description: "d", Effect: tool.Read, Input: json.RawMessage(`{"type":"object","title":"x"}`)}
	hash := tool.SpecHash(base)
	same := base
	same.Description = "other"
	same.Capability = "read"
	same.Input = json.RawMessage(` { "title": "x", "type": "object" } `)
	if tool.SpecHash(same) != hash {
		t.Error("the description, a default or white space changed the hash")
	}
	for name, change := range map[string]func(*tool.Spec){
		"name":       func(s *tool.Spec) { s.Name = "u" },
		"effect":     func(s *tool.Spec) { s.Effect = tool.Idempotent },
		"capability": func(s *tool.Spec) { s.Capability = "net" },
		"input":      func(s *tool.Spec) { s.Input = json.RawMessage(`{"type":"object"}`) },
		"output":     func(s *tool.Spec) { s.Output = json.RawMessage(`{"type":"string"}`) },
		"no input":   func(s *tool.Spec) { s.Input = nil },
	} {
		changed := base
		change(&changed)
		if tool.SpecHash(changed) == hash {
			t.Errorf("the %s does not change the hash", name)
		}
	}
	if len(hash) != 64 || hash != strings.ToLower(hash) {
		t.Errorf("the hash is %q", hash)
	}
}
