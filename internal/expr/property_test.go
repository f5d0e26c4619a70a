package expr_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

// What holds no reference is data, whatever it looks like.
func TestDataEvaluatesToItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		raw, err := canon.Encode(drawData(rt, 4))
		if err != nil {
			rt.Fatal(err)
		}
		template, problems := expr.ParseTemplate(raw)
		if len(problems) > 0 {
			rt.Fatalf("%s: %+v", raw, problems)
		}
		if !template.IsLiteral() {
			rt.Fatalf("%s has references", raw)
		}
		got, err := template.Eval(nil)
		if err != nil {
			rt.Fatal(err)
		}
		if encode(t, got) != string(raw) || string(template.Raw()) != string(raw) {
			rt.Fatalf("%s became %s", raw, encode(t, got))
		}
	})
}

// Any data passes as a literal, references too.
func TestLiteralsPassAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) any { return drawData(t, 3) }),
			rapid.SampledFrom([]any{
				map[string]any{"from": "args"}, map[string]any{"cel": "1"}, map[string]any{"$secret": "x"}, map[string]any{"from": "step"},
			}),
		).Draw(rt, "value")
		raw, err := canon.Encode(map[string]any{"from": "literal", "value": value})
		if err != nil {
			rt.Fatal(err)
		}
		got, err := parse(t, string(raw)).Eval(nil)
		if err != nil {
			rt.Fatal(err)
		}
		if want := encode(t, value); encode(t, got) != want {
			rt.Fatalf("%s became %s", want, encode(t, got))
		}
	})
}

func drawData(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 5
	}
	switch kind {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.Int64().Draw(t, "int")
	case 3, 4:
		return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"args", "{{x}}", "$secret", "from"})).Draw(t, "string")
	case 5:
		list := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = drawData(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		name := rapid.SampledFrom([]string{"a", "b", "text", "cel", "pointer", "step", "value", "secret", "From"}).Draw(t, "name")
		object[name] = drawData(t, depth-1)
	}
	object["data"] = true // so that it is no lone text or cel
	return object
}

func FuzzParseTemplate(f *testing.F) {
	for _, seed := range []string{
		`{"from":"args","pointer":"/a~1b"}`, `{"from":"step","step":"x","default":null}`, `{"text":["a",{"cel":"args.x > 1"}]}`,
		`{"$secret":"x"}`, `{"from":"literal","value":{"from":"args"}}`, `{"cel":"steps[\"a-b\"].c.map(x, x * 2)"}`,
		`[{"from":"run","pointer":"/attempt"},{"from":"me@x.org"}]`, `{"cel":"has(item.é)"}`,
		`{"cel":"cel.bind(steps, 1, steps) + item[\"x\"]"}`, `{"cel":"{'a': args}['a'].all(x, y)"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		template, problems := expr.ParseTemplate(raw)
		if (template == nil) == (len(problems) == 0) {
			t.Fatalf("template %v, problems %v", template, problems)
		}
		for _, p := range problems {
			if p.Code == "" || p.Message == "" || p.Offset < 0 || p.Length < 0 {
				t.Fatalf("problem %+v", p)
			}
		}
		if template == nil {
			return
		}
		again, problems := expr.ParseTemplate(template.Raw())
		if len(problems) > 0 || string(again.Raw()) != string(template.Raw()) {
			t.Fatalf("%s did not come back: %v", template.Raw(), problems)
		}
		types := expr.CELTypes{Steps: map[string]*schema.Schema{}, Items: map[string]*schema.Schema{}}
		for ref := range template.Refs {
			for _, use := range ref.Uses {
				if use.Offset < 0 || use.Offset+use.Length > len(ref.Source) {
					t.Fatalf("use %+v lies outside %q", use, ref.Source)
				}
				types.Steps[use.Name], types.Items[use.Name] = nil, nil
			}
		}
		if template.CheckCEL(types) != nil {
			return
		}
		value, err := template.Eval(newWorld(t))
		if err != nil {
			return
		}
		if _, err := canon.Encode(value); err != nil {
			t.Fatalf("%s gave what is no JSON: %v", template.Raw(), err)
		}
	})
}
