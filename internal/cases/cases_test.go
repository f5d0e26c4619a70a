package cases_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/cases"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// pay is about a tool that culm has, and one that it does not.
const pay = `
workflow_schema: 1
id: pay
revision: 1
steps:
  - {id: look, type: tool, tool: look}
  - {id: pay, type: tool, tool: charge}
`

// look is the one tool that there is.
func look() tool.Tool {
	return tool.MustFunc("look", "Looks.", tool.Read,
		func(context.Context, tool.Call, struct{}) (json.RawMessage, error) {
			return json.RawMessage(`"seen"`), nil
		})
}

// load writes a file of cases beside its workflow, and loads it.
func load(t *testing.T, content string) (*cases.File, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"pay.yaml": pay, "pay.test.yaml": content} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cases.Loader{Tools: []tool.Tool{look()}, Compile: func(path string) (*workflow.Program, error) {
		src, err := workflow.LoadFile(path)
		if err != nil {
			return nil, err
		}
		return workflow.Compile(src, nil, nil)
	}}.Load(filepath.Join(dir, "pay.test.yaml"))
}

// Everything wrong with a file is found at once.
func TestErrorsOfAFile(t *testing.T) {
	t.Parallel()
	_, err := load(t, `
test_schema: 1
effects: {look: read, charge: wrte}
cases:
  - name: a
    args: 1
    now: yesterday
    allow: no
    real: [charge, lok]
    tools: {charge: {}, lok: {returns: 1}, look: []}
    steps: {"pay@root[1]": {takes_ms: -1, unknown: x}, pya: {fails: {code: 1}}}
    may_repeat: [chrge]
    crash: {after: {event: step_strted, step: pya, nth: 0}}
    resolve: {pay: again, look: {returned: 1, failed: x}}
    expect: {status: running, failure: {}, output: 1, output_has: 1, steps: {pya: done}, in_doubt: [pya], calls: {charge: x, look: [pya]}}
  - {name: a, crash: sometimes, expect: {refused: x, status: failed}}
  - {nam: b}
`)
	var errs workflow.Errors
	if !errors.As(err, &errs) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, e := range errs {
		_, message, _ := strings.Cut(e.Error(), "pay.test.yaml:")
		place, _, _ := strings.Cut(message, ": ")
		got = append(got, place+" "+string(e.Code)+" "+e.Path)
	}
	want := []string{
		"3:11 invalid_value /effects/look", "3:31 invalid_value /effects/charge",
		"6:11 wrong_type /cases/0/args", "7:10 invalid_value /cases/0/now", "8:12 wrong_type /cases/0/allow",
		"9:12 invalid_value /cases/0/real/0", "9:20 invalid_value /cases/0/real/1",
		"10:21 missing_field /cases/0/tools/charge", "10:25 invalid_value /cases/0/tools/lok", "10:50 invalid_value /cases/0/tools/look",
		"11:39 invalid_value /cases/0/steps/pay@root[1]/takes_ms", "11:56 unknown_step /cases/0/steps/pya",
		"11:69 missing_field /cases/0/steps/pya/fails", "11:76 wrong_type /cases/0/steps/pya/fails/code",
		"12:18 invalid_value /cases/0/may_repeat/0",
		"13:28 invalid_value /cases/0/crash/after/event", "13:47 unknown_step /cases/0/crash/after/step", "13:57 invalid_value /cases/0/crash/after/nth",
		"14:20 invalid_value /cases/0/resolve/pay", "14:33 conflicting_fields /cases/0/resolve/look",
		"15:22 invalid_value /cases/0/expect/status", "15:67 conflicting_fields /cases/0/expect/output_has",
		"15:78 unknown_step /cases/0/expect/steps/pya", "15:83 invalid_value /cases/0/expect/steps/pya",
		"15:101 unknown_step /cases/0/expect/in_doubt/0", "15:123 wrong_type /cases/0/expect/calls/charge",
		"15:133 unknown_step /cases/0/expect/calls/look/0",
		"16:12 duplicate_id /cases/1/name", "16:22 invalid_value /cases/1/crash", "16:51 conflicting_fields /cases/1/expect/refused",
		"17:5 missing_field /cases/2", "17:6 unknown_field /cases/2/nam",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%v", diff, err)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	f, err := load(t, `
test_schema: 1
effects: {charge: write}
cases:
  - {name: pays, real: [look], tools: {charge: {returns: 9}}, crash: everywhere, expect: {output: 9}}
  - {name: may not, allow: [read], expect: {refused: policy_denied}}
  - {name: is not trusted, trust: false, expect: {refused: policy_denied}}
  - {name: wrong code, args: {}, trust: false, expect: {refused: closed}}
  - {name: is started, real: [look], tools: {charge: {returns: 9}}, expect: {refused: closed}}
  - {name: nobody knows, real: [look], tools: {charge: {unknown: reset}}, crash: everywhere, expect: {in_doubt: [pay]}}
  - name: somebody says
    real: [look]
    tools: {charge: {unknown: reset}}
    resolve: {pay: {failed: it was not}}
    crash: everywhere
    expect: {failure: {message: it was not}}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range f.Cases {
		r := f.Run(t.Context(), c, "")
		verdict := "ok"
		if !r.OK() {
			verdict = strings.Join(r.Problems, "; ")
		}
		got = append(got, r.Name+": "+verdict)
		if died := r.Crashes > 0; died != (c.Name == "pays" || c.Name == "nobody knows" || c.Name == "somebody says") {
			t.Errorf("%s: it died %d times", c.Name, r.Crashes)
		}
	}
	want := []string{
		"pays: ok", "may not: ok", "is not trusted: ok",
		"wrong code: refused: want closed, got policy_denied: step pay of pay@1: tool charge (write) needs a trusted workspace",
		"is started: refused: want closed, and the run was started: it is succeeded",
		"nobody knows: ok", "somebody says: ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"a.test.yaml": true, "x/a.test.yml": true, "a.test.json": true,
		"a.yaml": false, "test.yaml": false, "a.test.txt": false, "a.test": false,
	} {
		if got := cases.IsFile(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
