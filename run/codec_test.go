package run_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/run"
)

// everyFact has an event of every type, with all of its fields set.
func everyFact() map[run.Type]fact {
	blob := &run.Blob{SHA256: "5e", Size: 9000}
	failure := &run.Failure{Code: run.InvalidOutput, Message: "no \"good\" \u2028", Retryable: true, EffectDone: true}
	tokens := int64(7)
	bodies := []run.Body{
		&run.Queued{
			ParentRunID: "p", ParentStepID: "ps", RootRunID: "r", SessionID: "local",
			Definition: run.DefinitionRef{ID: "d", Revision: 3}, Bundle: json.RawMessage(`{"a":[1,2]}`), BundleBlob: blob, BundleHash: "bh",
			Args: json.RawMessage(`{"n":9007199254740993}`), ArgsBlob: blob,
			Budget: run.Budget{
				MaxConcurrency: 1, MaxAgents: 2, MaxSteps: 3, MaxRetries: 4, MaxNestingDepth: 5, WallTimeMS: 6,
				MaxTokens: &tokens, MaxCostMicros: &tokens,
			},
			Authority: run.Authority{Trusted: true, Allow: []string{"net", "write"}},
			Tools:     map[string]run.ToolPin{"t": {Effect: "read", Hash: "th"}}, Workspace: "/w", RestartedFrom: "old", RestartedAtStep: "a",
			Labels: map[string]string{"b": "2", "a": "1"}, Semantics: 1, CreatedAt: epoch(),
		},
		&run.Started{By: "me", Authority: run.Authority{Trusted: true, Allow: []string{"net"}}, Rerun: []string{"read"}, GrantedMS: 5, Takeover: "g"},
		&run.Suspended{Reason: run.KindStopped, Panic: "boom", Imported: "cli:ada"},
		&run.Succeeded{Output: json.RawMessage(`[null]`), OutputBlob: blob},
		&run.Failed{Failure: *failure},
		&run.CancelledRun{},
		&run.CancelRequested{By: "me", Reason: "enough"},
		&run.DeadlineExtended{Until: at(90), By: "me"},
		&run.Decided{Node: "/plan", Scope: "@root[1]", Value: json.RawMessage(`[1]`), ValueBlob: blob, Count: 1, Failure: failure},
		&run.RetryReserved{Node: "/plan", Scope: "w/", Round: 2, Due: at(1), Reservation: run.Amounts{"retries": 1}},
		&run.StepStarted{
			Attempt: 2, InputHash: "h", Effect: "write", Reservation: run.Amounts{"steps": 1, "agents": 1},
			ChildRunID: "c", Workflow: &run.DefinitionRef{ID: "w", Revision: 1}, Args: json.RawMessage(`{}`), ArgsBlob: blob,
		},
		&run.WaitSet{Deadline: at(30)},
		&run.StepSuspended{Reason: "outcome_unknown", InDoubt: true, Message: "gone"},
		&run.StepResumed{},
		&run.StepCompleted{Output: json.RawMessage(`"<&>"`), OutputBlob: blob},
		&run.StepFailed{Failure: *failure, Evidence: json.RawMessage(`{"x":1}`), EvidenceBlob: blob},
		&run.StepCancelled{InDoubt: true},
		&run.StepSkipped{Reason: run.SkipDependency},
		&run.StepResolved{Verdict: run.VerdictFailed, By: "me", Output: json.RawMessage(`1`), OutputBlob: blob, Failure: failure},
		&run.StepAdopted{FromRun: "old", InputHash: "h", Output: json.RawMessage(`1`), OutputBlob: blob, Failure: failure, Cancelled: true},
		&run.NodeAdopted{Node: "/plan", Scope: "w/", Value: json.RawMessage(`[1]`), ValueBlob: blob, Count: 1, Failure: failure, Round: 2},
	}
	facts := make(map[run.Type]fact, len(bodies))
	for _, b := range bodies {
		facts[b.EventType()] = fact{step: "a@root[2]#0/b", body: b}
	}
	return facts
}

// allTypes are the event types of this version.
func allTypes() []run.Type {
	return []run.Type{
		run.TypeQueued, run.TypeStarted, run.TypeSuspended, run.TypeSucceeded, run.TypeFailed, run.TypeCancelled,
		run.TypeCancelRequested, run.TypeDeadlineExtended, run.TypeDecided, run.TypeRetryReserved,
		run.TypeStepStarted, run.TypeStepSuspended, run.TypeStepResumed, run.TypeStepCompleted, run.TypeStepFailed,
		run.TypeStepCancelled, run.TypeStepSkipped, run.TypeStepResolved, run.TypeWaitSet,
		run.TypeStepAdopted, run.TypeNodeAdopted,
	}
}

func line(t *testing.T, f fact) string {
	t.Helper()
	ev := run.Event{Header: run.Header{RunID: "r", Sequence: 7, At: at(3), StepID: f.step}, Body: f.body}
	text, err := ev.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryEventGoesToALineAndBack(t *testing.T) {
	t.Parallel()
	facts := everyFact()
	for _, typ := range allTypes() {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			f, ok := facts[typ]
			if !ok {
				t.Fatal("there is no such fact")
			}
			text := line(t, f)
			if strings.Contains(text, "\n") {
				t.Errorf("more than a line: %s", text)
			}
			ev, err := run.Decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			want := run.Event{Header: run.Header{RunID: "r", Sequence: 7, At: at(3), StepID: f.step, Type: typ}, Body: f.body}
			if diff := cmp.Diff(want, ev); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if again := line(t, fact{step: ev.StepID, body: ev.Body}); again != text {
				t.Errorf("not the same line again:\n%s\n%s", text, again)
			}
			var unmarshalled run.Event
			if err := json.Unmarshal([]byte(text), &unmarshalled); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ev, unmarshalled); diff != "" {
				t.Errorf("UnmarshalJSON is not Decode (-want +got):\n%s", diff)
			}
		})
	}
	if len(facts) != len(allTypes()) {
		t.Errorf("%d facts for %d types", len(facts), len(allTypes()))
	}
}

// TestLinesAreTheAPI: the names in a journal are read by other programs, and by
// later versions.
func TestLinesAreTheAPI(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	facts := everyFact()
	for _, typ := range allTypes() {
		text.WriteString(line(t, facts[typ]) + "\n")
	}
	golden(t, "events.jsonl", text.String())
}

// TestDecodeIsStrict: what this version would not write is not read.
func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	for typ, f := range everyFact() {
		text := line(t, f)
		for name, bad := range map[string]string{
			"unknown member":   strings.Replace(text, `{`, `{"surprise":1,`, 1),
			"wrong case":       strings.Replace(text, `"run_id"`, `"Run_ID"`, 1),
			"duplicate name":   strings.Replace(text, `{`, `{"sequence":7,`, 1),
			"duplicate type":   strings.Replace(text, `{`, `{"type":"run_started",`, 1),
			"invalid UTF-8":    strings.Replace(text, `"run_id":"r"`, "\"run_id\":\"\xff\"", 1),
			"cut":              text[:len(text)-1],
			"something behind": text + `{}`,
			"wrong kind":       strings.Replace(text, `"sequence":7`, `"sequence":"7"`, 1),
			"negative":         strings.Replace(text, `"sequence":7`, `"sequence":-7`, 1),
		} {
			_, err := run.Decode([]byte(bad))
			if err == nil {
				t.Errorf("%s with %s is read: %s", typ, name, bad)
			}
			if errors.Is(err, run.ErrNewerFormat) {
				t.Errorf("%s with %s is taken for a newer format: %v", typ, name, err)
			}
		}
	}
}

func TestDecodeTellsNewerFormatsFromDamage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		newer bool
	}{
		{`{"run_id":"r","sequence":1,"at":"2030-01-02T03:04:05Z","type":"step_teleported","to":"mars"}`, true},
		{`{"type":"x"}`, true},
		{`{}`, false},
		{`{"type":""}`, false},
		{`{"type":null}`, false},
		{`{"type":7}`, false},
		{`null`, false},
		{`[]`, false},
		{``, false},
	} {
		_, err := run.Decode([]byte(c.line))
		if err == nil || errors.Is(err, run.ErrNewerFormat) != c.newer {
			t.Errorf("%s: error %v, want newer format: %v", c.line, err, c.newer)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, fact := range everyFact() {
		ev := run.Event{Header: run.Header{RunID: "r", Sequence: 7, At: at(3), StepID: fact.step}, Body: fact.body}
		text, err := ev.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ev, err := run.Decode(text)
		if err != nil {
			return
		}
		once, err := ev.Encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := run.Decode(once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		twice, err := again.Encode()
		if err != nil || string(once) != string(twice) {
			t.Fatalf("error %v:\n%s\n%s", err, once, twice)
		}
	})
}

func TestFillPutsBlobsInPlace(t *testing.T) {
	t.Parallel()
	value := json.RawMessage(`"from the blob"`)
	read := func(run.Blob) (run.Raw, error) { return value, nil }
	blob := &run.Blob{SHA256: "5e", Size: 9000}
	for _, body := range []run.Body{
		&run.Queued{ArgsBlob: blob, BundleBlob: blob},
		&run.StepStarted{ArgsBlob: blob},
		&run.StepCompleted{OutputBlob: blob},
		&run.StepFailed{EvidenceBlob: blob},
		&run.StepResolved{OutputBlob: blob},
		&run.Decided{ValueBlob: blob},
		&run.StepAdopted{OutputBlob: blob},
		&run.NodeAdopted{ValueBlob: blob},
		&run.Succeeded{OutputBlob: blob},
	} {
		ev := run.Event{Body: body}
		if err := run.Fill(&ev, read); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(ev.Body)
		if err != nil || !strings.Contains(string(text), "from the blob") {
			t.Errorf("%T: %s, error %v", body, text, err)
		}
		if _, failed := body.(*run.StepFailed); failed {
			continue // its evidence is no value of the run
		}
		if raw, ref := run.ValueOf(ev); string(raw) != string(value) || ref != blob {
			t.Errorf("%T: value %s, blob %v", body, raw, ref)
		}
	}
	gone := errors.New("gone")
	ev := run.Event{Body: &run.Queued{BundleBlob: blob}}
	if err := run.Fill(&ev, func(run.Blob) (run.Raw, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
}
