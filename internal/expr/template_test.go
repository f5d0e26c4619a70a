package expr_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

func parse(t testing.TB, raw string) *expr.Template {
	t.Helper()
	template, problems := expr.ParseTemplate(json.RawMessage(raw))
	if len(problems) > 0 {
		t.Fatalf("template %s: %+v", raw, problems)
	}
	return template
}

func decode(t testing.TB, raw string) any {
	t.Helper()
	v, err := canon.Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func encode(t testing.TB, v any) string {
	t.Helper()
	raw, err := canon.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// world is an Env of JSON texts; asked records what was asked for.
type world struct {
	t                      testing.TB
	args                   string
	steps, previous, items map[string]string
	outcome                map[string]string // under "", if there is one
	fail                   error
	asked                  []string
}

func (w *world) find(kind string, in map[string]string, name string) (any, bool, error) {
	w.asked = append(w.asked, kind+" "+name)
	if w.fail != nil {
		return nil, false, w.fail
	}
	raw, ok := in[name]
	if !ok {
		return nil, false, nil
	}
	return decode(w.t, raw), true, nil
}

func (w *world) Args() (any, error) {
	v, _, err := w.find("args", map[string]string{"": w.args}, "")
	return v, err
}
func (w *world) Step(name string) (any, bool, error) { return w.find("step", w.steps, name) }
func (w *world) Previous(name string) (any, bool, error) {
	return w.find("previous", w.previous, name)
}
func (w *world) Item(name string) (any, bool, error) { return w.find("item", w.items, name) }
func (w *world) Outcome() (any, bool, error) {
	return w.find("outcome", w.outcome, "")
}
func (w *world) Run() (map[string]any, error) {
	w.asked = append(w.asked, "run")
	return map[string]any{
		"run_id": "r1", "root_run_id": "r0", "created_at": "2026-01-02T03:04:05Z", "step_id": "s",
		"attempt": json.Number("2"), "idempotency_key": "k",
	}, w.fail
}

func newWorld(t testing.TB) *world {
	return &world{
		t:    t,
		args: `{"patch":"diff","n":9007199254740993,"files":[{"name":"a.go"},{"name":"b.go"}],"a/b":{"~":true},"null":null}`,
		steps: map[string]string{
			"inspect": `{"files":["x","y"],"ok":true}`, "text": `"hello"`,
		},
		previous: map[string]string{"review": `{"score":6}`},
		items:    map[string]string{"file": `{"name":"c.go","size":3}`},
	}
}

// secretive is a world that resolves secrets.
type secretive struct{ *world }

func (secretive) Secret(name string) (any, bool, error) {
	switch name {
	case "token":
		return "s3cret", true, nil
	case "broken":
		return nil, false, errors.New("the keyring is locked")
	}
	return nil, false, nil
}

func TestEval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, template, want string }{
		{"scalar", `"x"`, `"x"`},
		{"null", `null`, `null`},
		{"strings are never interpolated", `"$(rm -rf /) {{args.x}} ${args.patch}"`, `"$(rm -rf /) {{args.x}} ${args.patch}"`},
		{"a from of other meaning is data", `{"from":"me@x.org","to":{"from":1}}`, `{"from":"me@x.org","to":{"from":1}}`},
		{"text that is no list is data", `{"text":"a"}`, `{"text":"a"}`},
		{"text beside others is data", `{"text":["a"],"b":1}`, `{"b":1,"text":["a"]}`},
		{"cel that is no string is data", `{"cel":1}`, `{"cel":1}`},
		{"all arguments", `{"from":"args"}`, `{"a/b":{"~":true},"files":[{"name":"a.go"},{"name":"b.go"}],"n":9007199254740993,"null":null,"patch":"diff"}`},
		{"argument", `{"from":"args","pointer":"/patch"}`, `"diff"`},
		{"digits survive", `{"from":"args","pointer":"/n"}`, `9007199254740993`},
		{"element", `{"from":"args","pointer":"/files/1/name"}`, `"b.go"`},
		{"escapes", `{"from":"args","pointer":"/a~1b/~0"}`, `true`},
		{"null is a value", `{"from":"args","pointer":"/null","default":1}`, `null`},
		{"default", `{"from":"args","pointer":"/nope","default":{"from":"args"}}`, `{"from":"args"}`},
		{"default null", `{"from":"args","pointer":"/nope","default":null}`, `null`},
		{"step", `{"from":"step","step":"inspect","pointer":"/files/0"}`, `"x"`},
		{"step without output", `{"from":"step","step":"gone","default":[]}`, `[]`},
		{"previous round", `{"from":"previous","step":"review","pointer":"/score"}`, `6`},
		{"no previous round", `{"from":"previous","step":"first","default":0}`, `0`},
		{"item", `{"from":"item","name":"file"}`, `{"name":"c.go","size":3}`},
		{"part of an item", `{"from":"item","name":"file","pointer":"/size"}`, `3`},
		{"run", `{"from":"run","pointer":"/attempt"}`, `2`},
		{"all of run", `{"from":"run"}`, `{"attempt":2,"created_at":"2026-01-02T03:04:05Z","idempotency_key":"k","root_run_id":"r0","run_id":"r1","step_id":"s"}`},
		{"literal", `{"from":"literal","value":{"from":"args","x":[{"cel":"1"}]}}`, `{"from":"args","x":[{"cel":"1"}]}`},
		{"any depth", `{"a":[1,{"b":{"from":"args","pointer":"/patch"}}],"c":[]}`, `{"a":[1,{"b":"diff"}],"c":[]}`},
		{"text", `{"text":["Review ",{"from":"args","pointer":"/files/0"},": ",{"from":"args","pointer":"/n"},{"text":["!",{"from":"step","step":"text"}]}]}`,
			`"Review {\"name\":\"a.go\"}: 9007199254740993!hello"`},
		{"empty text", `{"text":[]}`, `""`},
		{"secret", `{"auth":{"text":["Bearer ",{"$secret":"token"}]}}`, `{"auth":"Bearer s3cret"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, tt.template).Eval(secretive{newWorld(t)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, encode(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEvalSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, template, code, at, message string }{
		{"property", `{"a":{"from":"args","pointer":"/ptach"}}`, expr.CodeUnknownReference, "/a", `args has no /ptach: it is an object, did you mean "patch"?`},
		{"property of other name", `{"from":"step","step":"inspect","pointer":"/zzz"}`, expr.CodeUnknownReference, "", `step "inspect" has no /zzz: it is an object with files, ok`},
		{"index", `[{"from":"args","pointer":"/files/2/name"}]`, expr.CodeUnknownReference, "/0", `args has no /files/2: /files is an array of 2 items`},
		{"no index", `{"from":"args","pointer":"/files/first"}`, expr.CodeUnknownReference, "", `args has no /files/first: /files is an array, and "first" is no index`},
		{"below a scalar", `{"from":"args","pointer":"/patch/x"}`, expr.CodeUnknownReference, "", `args has no /patch/x: /patch is a string`},
		{"step", `{"from":"step","step":"gone"}`, expr.CodeUnknownReference, "", `step "gone" has no value here`},
		{"item", `{"from":"item","name":"gone"}`, expr.CodeUnknownReference, "", `item "gone" has no value here`},
		{"in a text", `{"text":["a",{"from":"previous","step":"gone"}]}`, expr.CodeUnknownReference, "/text/1", `step "gone" of the previous round has no value here`},
		{"secret", `{"k":{"$secret":"token"}}`, expr.CodeSecretUnavailable, "/k", `secret "token": secrets are not resolved here`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, tt.template).Eval(newWorld(t))
			e, ok := expr.AsError(err)
			if !ok {
				t.Fatalf("got %v, error %v", got, err)
			}
			if diff := cmp.Diff(&expr.Error{Code: tt.code, At: tt.at, Message: tt.message}, e); diff != "" {
				t.Error(diff)
			}
		})
	}
	_, err := parse(t, `{"$secret":"nope"}`).Eval(secretive{newWorld(t)})
	if e, ok := expr.AsError(err); !ok || e.Code != expr.CodeSecretUnavailable {
		t.Errorf("unknown secret: %v", err)
	}
}

// What the environment fails with is no fault of the template.
func TestEvalPassesFailuresOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	for _, raw := range []string{
		`{"from":"args"}`, `{"from":"step","step":"a","default":1}`, `{"from":"previous","step":"a"}`, `{"from":"item","name":"a"}`,
		`{"from":"run"}`, `{"text":[{"from":"args"}]}`, `[{"a":{"from":"args"}}]`,
		`{"cel":"args.x"}`, `{"cel":"has(steps.a) || true"}`, `{"cel":"true || item.a == 1"}`,
	} {
		template := parse(t, raw)
		unknown := map[string]*schema.Schema{"a": nil}
		if problems := template.CheckCEL(expr.CELTypes{Steps: unknown, Items: unknown}); problems != nil {
			t.Fatalf("%s: %+v", raw, problems)
		}
		w := newWorld(t)
		w.fail = broken
		_, err := template.Eval(w)
		if len(w.asked) > 0 && !errors.Is(err, broken) {
			t.Errorf("%s: got %v", raw, err)
		}
		if _, ok := expr.AsError(err); ok {
			t.Errorf("%s: the failure was taken for the template's: %v", raw, err)
		}
	}
	if _, err := parse(t, `{"$secret":"broken"}`).Eval(secretive{newWorld(t)}); err == nil || !strings.Contains(err.Error(), "keyring") {
		t.Errorf("got %v", err)
	}
}

func TestEvalAsksOnlyForWhatIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := parse(t, `{"a":{"from":"step","step":"text"},"b":[1,{"c":{"from":"run","pointer":"/run_id"}}]}`).Eval(w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"step text", "run"}, w.asked); diff != "" {
		t.Error(diff)
	}
}

func TestMalformedReferences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, template, code, at, message string }{
		{"no JSON", `{`, expr.CodeInvalidJSON, "", "decode JSON"},
		{"misspelt member", `{"a":{"from":"args","pointr":"/x"}}`, expr.CodeMalformedReference, "/a/pointr", `no member "pointr", did you mean "pointer"?`},
		{"member of another form", `{"from":"run","default":1}`, expr.CodeMalformedReference, "/default", `a reference from "run" has no member "default"`},
		{"text beside from", `{"from":"args","text":["a"]}`, expr.CodeMalformedReference, "/text", "only from, pointer, default"},
		{"missing step", `[{"from":"step","pointer":"/a"}]`, expr.CodeMalformedReference, "/0", `needs the member "step"`},
		{"missing name", `{"from":"item"}`, expr.CodeMalformedReference, "", `needs the member "name"`},
		{"missing value", `{"from":"literal"}`, expr.CodeMalformedReference, "", `needs the member "value"`},
		{"step that is no name", `{"from":"step","step":1}`, expr.CodeMalformedReference, "/step", "must be a name"},
		{"empty step", `{"from":"previous","step":""}`, expr.CodeMalformedReference, "/step", "must be a name"},
		{"pointer that is no string", `{"from":"args","pointer":1}`, expr.CodeMalformedReference, "/pointer", "must be a string"},
		{"pointer without slash", `{"from":"args","pointer":"x"}`, expr.CodeMalformedReference, "/pointer", "must be empty or begin with /"},
		{"pointer with a bad escape", `{"from":"args","pointer":"/~2"}`, expr.CodeMalformedReference, "/pointer", "~ must be followed"},
		{"far from any fact", `{"from":"run","pointer":"/workflow"}`, expr.CodeMalformedReference, "/pointer", "only /run_id, /root_run_id"},
		{"unknown fact", `{"from":"run","pointer":"/attemt"}`, expr.CodeMalformedReference, "/pointer", "did you mean /attempt?"},
		{"below a fact", `{"from":"run","pointer":"/attempt/x"}`, expr.CodeMalformedReference, "/pointer", "a run has no /attempt/x"},
		{"text of numbers", `{"text":["a",1]}`, expr.CodeMalformedReference, "/text/1", "must be a string or a reference"},
		{"text of data", `{"text":[{"from":"me@x.org"}]}`, expr.CodeMalformedReference, "/text/0", "must be a string or a reference"},
		{"reference in a text", `{"text":[{"from":"step"}]}`, expr.CodeMalformedReference, "/text/0", `needs the member "step"`},
		{"handle that is no name", `{"$secret":1}`, expr.CodeMalformedHandle, "", `exactly {"$secret": "name"}`},
		{"handle in company", `{"a":{"$secret":"x","y":1}}`, expr.CodeMalformedHandle, "/a", `exactly {"$secret": "name"}`},
		{"expression", `{"a":{"cel":"1 +"}}`, expr.CodeExpressionInvalid, "/a/cel", "unexpected end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			template, problems := expr.ParseTemplate(json.RawMessage(tt.template))
			if template != nil || len(problems) == 0 {
				t.Fatalf("got template %v, problems %v", template, problems)
			}
			p := problems[0]
			if p.Code != tt.code || p.At != tt.at || !strings.Contains(p.Message, tt.message) {
				t.Errorf("got %+v, want code %s at %q with %q", p, tt.code, tt.at, tt.message)
			}
			if p.Code == expr.CodeMalformedReference && !strings.Contains(p.Hint, `"from": "literal"`) {
				t.Errorf("the hint does not name the literal: %q", p.Hint)
			}
		})
	}
}

func TestAllProblemsAreReported(t *testing.T) {
	t.Parallel()
	_, problems := expr.ParseTemplate(json.RawMessage(
		`{"a":{"from":"step","stp":"x","pointer":"y"},"b":[{"cel":"("},{"text":[1,{"from":"item"}]}]}`))
	var got []string
	for _, p := range problems {
		got = append(got, p.At+" "+p.Code)
	}
	want := []string{
		"/a/stp malformed_reference", "/a malformed_reference", "/a/pointer malformed_reference",
		"/b/0/cel expression_invalid", "/b/1/text/0 malformed_reference", "/b/1/text/1 malformed_reference",
	}
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Error(diff)
	}
}

func TestRefsComeInOrder(t *testing.T) {
	t.Parallel()
	template := parse(t, `{"z":{"from":"args","pointer":"/p","default":1},"a":[{"$secret":"s"},{"text":["x",{"from":"step","step":"b"},{"cel":"steps.c.x + args.y"}]}],"m":{"from":"literal","value":[2]}}`)
	var got []string
	for ref := range template.Refs {
		got = append(got, ref.At+" "+string(ref.Kind)+" "+ref.Name+ref.Pointer+ref.Source)
	}
	want := []string{
		"/a/0 secret s", "/a/1 text ", "/a/1/text/1 step b", "/a/1/text/2 cel steps.c.x + args.y", "/m literal ", "/z args /p",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for ref := range template.Refs {
		if ref.Kind == expr.Text {
			break // leaving early must not go on
		}
	}
	z := template.Object()["z"].Root()
	if string(z.Default) != "1" || z.At != "/z" || string(template.Object()["m"].Root().Value) != "[2]" {
		t.Errorf("got %+v", z)
	}
}

func TestTheFormOfTemplates(t *testing.T) {
	t.Parallel()
	template := parse(t, `{"b":[1,{"from":"args"}],"a":{"c":null},"s":"x"}`)
	if template.Root() != nil || template.Array() != nil || template.IsLiteral() || template.Literal() != nil {
		t.Error("want an object with references")
	}
	if got := string(template.Raw()); got != `{"a":{"c":null},"b":[1,{"from":"args"}],"s":"x"}` {
		t.Errorf("Raw is %s", got)
	}
	list := template.Object()["b"]
	if list.At() != "/b" || len(list.Array()) != 2 || list.Array()[1].Root() == nil || list.Array()[1].At() != "/b/1" {
		t.Errorf("got %+v", list)
	}
	data := template.Object()["a"]
	if !data.IsLiteral() || data.Object() == nil || !cmp.Equal(data.Literal(), map[string]any{"c": nil}) {
		t.Errorf("got %+v", data)
	}
	if literal := parse(t, `{"from":"literal","value":1}`); literal.IsLiteral() || literal.Root() == nil || literal.Object() != nil {
		t.Error("a literal is a reference")
	}
}

func TestResultSchemas(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"text":["a"]}`: "string", `{"from":"literal","value":[1]}`: "array", `{"from":"run","pointer":"/attempt"}`: "integer",
		`{"from":"run"}`: "object", `{"from":"args"}`: "anything", `{"cel":"1 < 2"}`: "boolean", `{"cel":"1 + 2"}`: "integer",
		`{"cel":"1.5"}`: "number", `{"cel":"'a' + 'b'"}`: "string", `{"cel":"[1]"}`: "array", `{"cel":"{'a': 1}"}`: "object",
		`{"cel":"null"}`: "null", `{"cel":"args.x"}`: "anything",
	} {
		template := parse(t, raw)
		if problems := template.CheckCEL(expr.CELTypes{}); problems != nil {
			t.Fatalf("%s: %+v", raw, problems)
		}
		if got := template.Root().ResultSchema().Types().String(); got != want {
			t.Errorf("%s is %s, want %s", raw, got, want)
		}
	}
}
