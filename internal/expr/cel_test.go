package expr_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/schema"
)

const argsSchema = `{"type":"object","additionalProperties":false,"properties":{
	"files":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{
		"name":{"type":"string"},"size":{"type":"integer"},"weight":{"type":"number"}}}},
	"ratio":{"type":"number"},"count":{"type":"integer"},"any":true,"id":{"type":"integer"},
	"counts":{"type":"object","additionalProperties":{"type":"integer"}},
	"open":{"type":"object","properties":{"a":{"type":"integer"}}},
	"maybe":{"type":["number","null"]},"my-name":{"type":"string"},
	"tree":{"$ref":"#/$defs/node"}},
	"$defs":{"node":{"type":"object","additionalProperties":false,"properties":{"v":{"type":"number"},"next":{"$ref":"#/$defs/node"}}}}}`

const argsValue = `{"files":[{"name":"b","size":3,"weight":3},{"name":"a","size":5,"weight":2.5}],"ratio":3,"count":3,
	"any":{"i":3,"d":3.5,"big":18446744073709551615,"huge":1e300,"list":[1,2.5,"x"]},"id":9007199254740993,
	"counts":{"z":1,"a":2,"m":3},"open":{"a":1,"b":"x"},"maybe":7,"my-name":"n","tree":{"v":1,"next":{"v":2}}}`

func types(t testing.TB) expr.CELTypes {
	s, problems := schema.Compile(json.RawMessage(argsSchema))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	score, problems := schema.Compile(json.RawMessage(`{"type":"object","properties":{"value":{"type":"number"}},"additionalProperties":false}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return expr.CELTypes{
		Args: s,
		Steps: map[string]*schema.Schema{
			"score": score, "my-step": nil, "gone": nil, "may_fail": schema.ErrorUnion(score),
			"pair": schema.Tuple(score, schema.OfTypes(schema.IntegerType)),
		},
		Items: map[string]*schema.Schema{"file": nil},
	}
}

func celWorld(t testing.TB) *world {
	return &world{
		t:    t,
		args: argsValue,
		steps: map[string]string{
			"score": `{"value":7}`, "my-step": `{"x-y":1}`, "may_fail": `{"error":{"code":"c","message":"m"}}`, "pair": `[{"value":1},2]`,
		},
		items: map[string]string{"file": `{"name":"f"}`},
	}
}

func cel(t testing.TB, source string) *expr.Template {
	t.Helper()
	return parse(t, encode(t, map[string]any{"cel": source}))
}

func compiled(t testing.TB, source string) *expr.Template {
	t.Helper()
	template := cel(t, source)
	if problems := template.CheckCEL(types(t)); len(problems) > 0 {
		t.Fatalf("%s: %+v", source, problems)
	}
	return template
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ source, want string }{
		// What can be read.
		{`args.files[0].name`, `"b"`},
		{`args["files"][1]["name"]`, `"a"`},
		{`args["my-name"]`, `"n"`},
		{`args.tree.next.v`, `2`},
		{`steps.score.value >= 7 && size(args.files) < 100`, `true`},
		{`steps["my-step"]["x-y"]`, `1`},
		{`steps.may_fail.error.code`, `"c"`},
		{`item.file.name + "!"`, `"f!"`},
		{`run.attempt + 1`, `3`},
		{`timestamp(run.created_at).getFullYear()`, `2026`},
		{`args`, canonical(argsValue)},
		// The schema decides what a number is.
		{`args.ratio / 2.0`, `1.5`},
		{`args.count / 2`, `1`},
		{`args.files[0].weight / 2.0`, `1.5`},
		{`args.files.map(f, f.weight / 2.0)`, `[1.5,1.25]`},
		{`args.maybe / 2.0`, `3.5`},
		{`args.tree.next.v / 4.0`, `0.5`},
		{`args.counts.z + 1`, `2`},
		{`steps.pair.map(p, type(p) == int || type(p) == double)`, `[false,true]`},
		// Without a schema, how it is written.
		{`args.any.i / 2`, `1`},
		{`args.any.d / 2.0`, `1.75`},
		{`args.any.big - 1u`, `18446744073709551614`},
		{`args.any.huge * 1.0`, `1e+300`},
		{`args.any.list`, `[1,2.5,"x"]`},
		{`args.id + 1`, `9007199254740994`},
		// Numbers of different types compare.
		{`1 < 1.5 && args.ratio > 2 && args.count <= 3.0`, `true`},
		{`args.ratio == 3 && args.count == 3.0 && 1u != 2.5`, `true`},
		{`3 in [3.0] && args.count in [2.0, 3.0]`, `true`},
		{`args.any.i == 3.0 && args.any == args.any`, `true`},
		// Doubles become canonical numbers.
		{`3.0`, `3`}, {`-0.0`, `0`}, {`0.1 + 0.2`, `0.30000000000000004`}, {`1e21`, `1e+21`},
		// Maps are gone through in the order of their names.
		{`args.counts.map(k, k)`, `["a","m","z"]`},
		{`args.counts.map(k, args.counts[k])`, `[2,3,1]`},
		{`args.map(k, k)`, `["any","count","counts","files","id","maybe","my-name","open","ratio","tree"]`},
		{`args.open.map(k, k)`, `["a","b"]`},
		{`{"z": 1, "b": 2, "a": 3}.map(k, k)`, `["a","b","z"]`},
		{`{3: 1, 1: 2, 2: 3, "x": 4, true: 5}.map(k, string(k))`, `["true","1","2","3","x"]`},
		{`dyn({"b": args, "a": 1}).map(k, k)`, `["a","b"]`},
		// Objects with declared properties are maps, too.
		{`"files" in args && !("nope" in args) && size(args) == 10 && args.size() == 10`, `true`},
		{`args[args.files.map(f, "count")[0]]`, `3`},
		{`has(args.files) && !has(args.open.zzz)`, `true`},
		{`has(steps.score) && !has(steps.gone)`, `true`},
		{`has(steps.gone) ? steps.gone.x : "none"`, `"none"`},
		// Bound names hide variables.
		{`args.files.exists(item, item.size > 3)`, `true`},
		{`args.files.filter(args, args.size > 3).map(run, run.name)`, `["a"]`},
		{`cel.bind(steps, 2, steps * steps)`, `4`},
		// Results.
		{`{"a": [1, 2.0, null, true, "x", {"b": args.count}]}`, `{"a":[1,2,null,true,"x",{"b":3}]}`},
		{`string(duration("90s"))`, `"90s"`},
		{`null`, `null`},
		// Libraries.
		{`"a,b".split(",").join("-") + "x".replace("x", "y") + " z ".trim() + "%.2f".format([1.5])`, `"a-byz1.50"`},
		{`"aaa".replace("a", "b", 2)`, `"bba"`}, {`["a", "b"].join()`, `"ab"`},
		{`[3, 1, 2].sort().reverse()`, `[3,2,1]`}, {`lists.range(3)`, `[0,1,2]`}, {`[[1], [2]].flatten()`, `[1,2]`},
		{`math.greatest(1, 3, 2)`, `3`}, {`sets.contains([1, 2], [2])`, `true`}, {`"abc".matches("^a.c$")`, `true`},
	} {
		t.Run(tt.source, func(t *testing.T) {
			t.Parallel()
			got, err := compiled(t, tt.source).Eval(celWorld(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, encode(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func canonical(raw string) string {
	out, err := canon.Canonicalize([]byte(raw))
	if err != nil {
		return err.Error()
	}
	return string(out)
}

func TestExpressionsThatDoNotCompile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source, message string
		offset, length  int
	}{
		{`1 +`, "unexpected end", 3, 0},
		{`args.fils`, `args has no "fils", did you mean "files"?`, 0, 9},
		{`size(args . fils) > 1`, `args has no "fils"`, 5, 11},
		{`1 < args["fils"]`, `args has no "fils"`, 4, 12},
		{`args.files.all(f, f.nam == "")`, `args.files[] has no "nam", did you mean "name"?`, 18, 5},
		{`args.tree.next.next.w`, `has no "w"`, 0, 21},
		{`steps.scor.value`, `steps has no "scor", did you mean "score"?`, 0, 10},
		{`steps["my-stp"]`, `steps has no "my-stp", did you mean "my-step"?`, 0, 15},
		{`has(steps.nope)`, `steps has no "nope"`, 4, 10},
		{`steps.score.valu`, `steps.score has no "valu", did you mean "value"?`, 0, 16},
		{`item.fil`, `item has no "fil", did you mean "file"?`, 0, 8},
		{`run.attemt`, `run has no "attemt", did you mean "attempt"?`, 0, 10},
		{`size(steps)`, "steps must be followed by a constant name", 5, 5},
		{`steps[args.files[0].name]`, "steps must be followed by a constant name", 0, 5},
		{`"é" == "é" && item == 1`, "item must be followed by a constant name", 16, 4},
		{`[1].map(x, steps)`, "steps must be followed by a constant name", 11, 5},
		{`arg.x`, `nothing is called "arg" here, did you mean "args"?`, 0, 3},
		{`sice(args)`, `nothing is called "sice" here, did you mean "size"?`, 4, 1},
		{`now()`, `nothing is called "now" here`, 3, 1},
		{`args.files[0].name + 1`, "+ cannot be applied to (string, int)", 19, 1},
		{`args.ratio + 1`, "+ cannot be applied to (double, int)", 11, 1},
		{`args.count ? 1 : 2`, "?: cannot be applied to (int, int, int)", 11, 1},
		{`args.files[0].name == 1`, "== cannot be applied to (string, int)", 19, 2},
		{`"a".matches("(")`, "regexp", 0, 0},
		{`"%.1000f".format([1.5])`, "maximum allowed precision 100", 16, 1},
		{`args.?files`, "unsupported syntax '.?'", 4, 0},
	} {
		t.Run(tt.source, func(t *testing.T) {
			t.Parallel()
			template, problems := expr.ParseTemplate(json.RawMessage(encode(t, []any{map[string]any{"cel": tt.source}})))
			if template != nil {
				problems = template.CheckCEL(types(t))
			}
			if len(problems) == 0 {
				t.Fatal("no problem was found")
			}
			p := problems[0]
			if !strings.Contains(p.Message, tt.message) || strings.Contains(p.Message, "\n") {
				t.Errorf("got %q, want %q", p.Message, tt.message)
			}
			want := expr.Problem{Code: expr.CodeExpressionInvalid, At: "/0/cel", Offset: tt.offset, Length: tt.length}
			if diff := cmp.Diff(want, p, cmpopts.IgnoreFields(expr.Problem{}, "Message", "Hint")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExpressionsThatFail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ source, message string }{
		{`args.files[9].name`, "1:14: index out of bounds: 9, in: args.files[9].name"},
		{"true &&\n  args.open.nope == 1", "2:12: no such key: nope, in: args.open.nope == 1"},
		{`args.any.nope`, "no such key: nope"},
		{`steps.gone.x`, "no such key: gone"},
		{`args.any.i + "x"`, "no such overload"},
		{`1 / (args.count - 3)`, "division by zero"},
		{`9223372036854775807 + args.count`, "overflow"},
		{`1.0 / 0.0`, "the result is +Inf, which is no JSON number"},
		{`{"a": [timestamp("2020-01-01T00:00:00Z")]}`, "the result at /a/0 has the type google.protobuf.Timestamp"},
		{`duration("1s")`, "the result has the type google.protobuf.Duration"},
		{`b"abc"`, "the result has the type bytes"},
		{`type(1)`, "the result has the type type"},
		{`{"a": {1: 2}}`, "the result at /a is a map with a key of type int"},
		{`lists.range(100000)`, "exceeds maximum"},
		{`lists.range(10000).map(x, lists.range(10000).map(y, x * y))`, "more than 1000000 units of work"},
		{`lists.range(10000).map(x, "aaaaaaaaaa").join().replace("a", lists.range(10000).map(x, "b").join())`, "longer than 16 MiB"},
		{`lists.range(10000).map(x, "").join(lists.range(10000).map(x, "b").join())`, "longer than 16 MiB"},
		{`args["my-name"].replace("n", "%.1000f").format([1.5])`, "precision"},
	} {
		t.Run(tt.source, func(t *testing.T) {
			t.Parallel()
			got, err := compiled(t, tt.source).Eval(celWorld(t))
			e, ok := expr.AsError(err)
			if !ok {
				t.Fatalf("got %v, error %v", got, err)
			}
			if e.Code != expr.CodeExpressionFailed || e.At != "/cel" || !strings.Contains(e.Message, tt.message) || strings.Contains(e.Message, "\n") {
				t.Errorf("got %+v, want %q", e, tt.message)
			}
		})
	}
	_, err := cel(t, `1`).Eval(celWorld(t))
	if e, ok := expr.AsError(err); !ok || !strings.Contains(e.Message, "not been compiled") {
		t.Errorf("without CheckCEL: %v", err)
	}
}

func TestUses(t *testing.T) {
	t.Parallel()
	use := func(kind expr.Kind, name string, offset, length int) expr.Ref {
		return expr.Ref{Kind: kind, Name: name, At: "/cel", Offset: offset, Length: length}
	}
	for _, tt := range []struct {
		source string
		want   []expr.Ref
	}{
		{`1 + 1`, nil},
		{`args.a + args.b`, []expr.Ref{use(expr.Args, "", 0, 4)}},
		{`steps.a.b > steps.c && steps.a.d`, []expr.Ref{use(expr.Step, "a", 0, 7), use(expr.Step, "c", 12, 7)}},
		{`"é" + steps["x y"].z`, []expr.Ref{use(expr.Step, "x y", 7, 12)}},
		{`has(item.f) && run.attempt > 1`, []expr.Ref{use(expr.Item, "f", 4, 6), use(expr.Run, "", 15, 3)}},
		{`[args].exists(x, x == steps.a)`, []expr.Ref{use(expr.Args, "", 1, 4), use(expr.Step, "a", 22, 7)}},
		{`{steps.a: item.b}`, []expr.Ref{use(expr.Step, "a", 1, 7), use(expr.Item, "b", 10, 6)}},
		{`[1].map(item, item.x + args.y)`, []expr.Ref{use(expr.Args, "", 23, 4)}},
		{`steps.a.map(steps, steps.b)`, []expr.Ref{use(expr.Step, "a", 0, 7)}},
		{`cel.bind(args, steps.a, args.x) + string(args.y)`, []expr.Ref{use(expr.Step, "a", 15, 7), use(expr.Args, "", 41, 4)}},
		{`args.map(args, args.x)`, []expr.Ref{use(expr.Args, "", 0, 4)}},
		{`[1].map(args, .args.x)`, []expr.Ref{use(expr.Args, "", 15, 4)}},
	} {
		got := cel(t, tt.source).Root().Uses
		if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(expr.Ref{})); diff != "" {
			t.Errorf("%s: %s", tt.source, diff)
		}
	}
}

func TestExpressionsAskOnceAndOnlyForWhatTheyRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		source string
		want   []string
	}{
		{`true || steps.score.value > 1.0`, nil},
		{`steps.score.value > 1.0 && steps.score.value < 9.0 && args.count == 3 && args.count == 4`, []string{"step score", "args "}},
		{`lists.range(50).all(i, args.count > 1 && has(item.file))`, []string{"args ", "item file"}},
		{`run.attempt > 100 ? steps.gone : null`, []string{"run"}},
	} {
		w := celWorld(t)
		if _, err := compiled(t, tt.source).Eval(w); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, w.asked); diff != "" {
			t.Errorf("%s: %s", tt.source, diff)
		}
	}
}

func TestExpressionsRunConcurrently(t *testing.T) {
	t.Parallel()
	template := parse(t, `{"a":{"cel":"args.files.map(f, f.weight)"},"b":{"text":[{"cel":"steps.score.value"}]}}`)
	if problems := template.CheckCEL(types(t)); problems != nil {
		t.Fatal(problems)
	}
	results := make([]string, 8)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			got, err := template.Eval(celWorld(t))
			if err != nil {
				results[i] = err.Error()
				return
			}
			if raw, err := canon.Encode(got); err == nil {
				results[i] = string(raw)
			}
		})
	}
	group.Wait()
	for _, got := range results {
		if got != `{"a":[3,2.5],"b":"7"}` {
			t.Errorf("got %s", got)
		}
	}
}

// Every JSON value passes through an expression unchanged, whether read as a
// whole or taken apart.
func TestValuesPassThroughExpressions(t *testing.T) {
	t.Parallel()
	whole, parts := compiledOpen(t, `args`), compiledOpen(t, `[args].map(x, {"x": x})[0].x`)
	keys := compiledOpen(t, `args.o.map(k, k)`)
	rapid.Check(t, func(rt *rapid.T) {
		object := map[string]any{}
		for range rapid.IntRange(0, 5).Draw(rt, "size") {
			object[rapid.String().Draw(rt, "name")] = drawData(rt, 2)
		}
		raw := encode(t, map[string]any{"o": object})
		for _, template := range []*expr.Template{whole, parts} {
			got, err := template.Eval(&world{t: t, args: raw})
			if err != nil {
				rt.Fatal(err)
			}
			if encode(t, got) != raw {
				rt.Fatalf("%s became %s", raw, encode(t, got))
			}
		}
		got, err := keys.Eval(&world{t: t, args: raw})
		if err != nil {
			rt.Fatal(err)
		}
		names := got.([]any)
		for i := 1; i < len(names); i++ {
			if names[i-1].(string) >= names[i].(string) {
				rt.Fatalf("names are not in order: %q", names)
			}
		}
		if len(names) != len(object) {
			rt.Fatalf("got %q of %s", names, raw)
		}
	})
}

func compiledOpen(t testing.TB, source string) *expr.Template {
	template := cel(t, source)
	if problems := template.CheckCEL(expr.CELTypes{}); len(problems) > 0 {
		t.Fatalf("%s: %+v", source, problems)
	}
	return template
}
