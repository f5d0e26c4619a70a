package checker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/internal/testkit/effectlog"
)

const runID = "01900000-0000-7000-8000-000000000001"

var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at is the time of an event: one second apart.
func at(sequence int) time.Time { return begun.Add(time.Duration(sequence) * time.Second) }

// object is a JSON object in the making.
type object = map[string]any

// definition makes a definition of a plan. Steps are written as `id`, `id !policy`
// or as JSON; those that are only named call tool t.
func definition(t *testing.T, id, plan string, steps ...string) object {
	t.Helper()
	list := make([]any, len(steps))
	for i, s := range steps {
		step := object{"type": "tool", "tool": "t"}
		if strings.HasPrefix(s, "{") {
			if err := json.Unmarshal([]byte(s), &step); err != nil {
				t.Fatalf("step %s: %v", s, err)
			}
		} else {
			name, policy, _ := strings.Cut(s, " !")
			step["id"] = name
			if policy != "" {
				step["failure"] = policy
			}
		}
		if step["type"] != "tool" {
			delete(step, "tool")
		}
		list[i] = step
	}
	d := object{"workflow_schema": 1, "id": id, "revision": 1, "steps": list}
	if plan != "" {
		d["plan"] = node(t, plan)
	}
	return d
}

// node reads a plan in which a string stands for a step and a list for a sequence.
func node(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("plan %s: %v", text, err)
	}
	return canonical(v)
}

func canonical(v any) any {
	switch v := v.(type) {
	case string:
		return object{"type": "step", "step": v}
	case []any:
		return object{"type": "sequence", "nodes": canonicalAll(v)}
	case object:
		return canonicalObject(v)
	}
	return v
}

func canonicalAll(nodes []any) []any {
	all := make([]any, len(nodes))
	for i, n := range nodes {
		all[i] = canonical(n)
	}
	return all
}

func canonicalObject(v object) object {
	n := maps.Clone(v)
	for _, kind := range []string{"parallel", "choice", "map", "retry", "repeat", "finally", "on_failure"} {
		inner, ok := v[kind]
		if !ok {
			continue
		}
		delete(n, kind)
		n["type"] = kind
		switch kind {
		case "parallel":
			n["nodes"] = canonicalAll(inner.([]any))
		case "choice":
			branches := inner.([]any)
			n["condition"] = object{"from": "args", "pointer": "/x"}
			n["then_branch"] = canonical(branches[0])
			if len(branches) > 1 {
				n["else_branch"] = canonical(branches[1])
			}
		case "map":
			n["source"], n["item"], n["body"] = object{"from": "args", "pointer": "/xs"}, "x", canonical(inner)
		case "retry":
			n["node"] = canonical(inner)
		case "finally", "on_failure":
			pair := inner.([]any)
			n["node"], n["cleanup"] = canonical(pair[0]), canonical(pair[1])
		case "repeat":
			n["until"], n["body"] = object{"from": "args", "pointer": "/x"}, canonical(inner)
		}
	}
	return n
}

// pin makes a bundle whose root is the first definition.
func pin(defs ...object) object {
	all := object{}
	for _, d := range defs {
		all[fmt.Sprintf("%s@%v", d["id"], d["revision"])] = d
	}
	return object{"publication_revision": 0, "root_id": defs[0]["id"], "root_revision": 1, "definitions": all}
}

// scribe writes journals from scripts.
//
// A line of a script is a commit, its events are parted by semicolons. An event is
// a type, shortened where a step's type goes without saying, the step if there is
// one, and fields as name=JSON: `start a effect="write"`, `done a output=1`. A
// commit of only `#` starts the run again, and says nothing else. A first line
// `from b: adopt a; ...` is of a run that goes on from step b of another one.
type scribe struct {
	t        *testing.T
	commits  [][][]byte
	sequence int
	attempts map[string]int
}

var short = map[string]string{
	"start": "step_started", "done": "step_completed", "fail": "step_failed", "cancel": "step_cancelled",
	"skip": "step_skipped", "suspend": "step_suspended", "resume": "step_resumed", "resolve": "step_resolved",
	"wait": "wait_set", "succeeded": "run_succeeded", "failed": "run_failed", "cancelled": "run_cancelled",
	"suspended": "run_suspended", "again": "run_started", "retry": "retry_reserved", "cancelling": "cancel_requested",
	"extend": "deadline_extended", "adopt": "step_adopted", "node": "node_adopted",
}

func write(t *testing.T, bundle object, budget object, script string) checker.Journal {
	t.Helper()
	s := &scribe{t: t, attempts: make(map[string]int)}
	raw := marshal(t, bundle)
	sum := sha256.Sum256(raw)
	limits := object{
		"max_concurrency": 4, "max_agents": 8, "max_steps": 100, "max_retries": 8, "max_nesting_depth": 4, "wall_time_ms": 900000, "cleanup_ms": 2000,
	}
	maps.Copy(limits, budget)
	queued := object{
		"root_run_id": runID, "session_id": "local", "definition": object{"id": bundle["root_id"], "revision": 1},
		"definition_bundle": json.RawMessage(raw), "definition_bundle_hash": hex.EncodeToString(sum[:]),
		"validated_args": object{}, "budget": limits, "authority": object{"trusted": false},
		"tools":     object{"t": object{"effect": "write", "hash": "h"}},
		"semantics": 1, "created_at": begun,
	}
	opening := "again by=\"test\""
	if rest, ok := strings.CutPrefix(script, "from "); ok {
		first, after, _ := strings.Cut(rest, "\n")
		step, taken, _ := strings.Cut(first, ":")
		queued["restarted_from"], queued["restarted_at_step"] = "old", step
		opening, script = strings.TrimSpace(taken)+";"+opening, after
	}
	s.commits = append(s.commits, [][]byte{s.line("run_queued", "", queued)})
	for line := range strings.Lines(opening + "\n" + script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var commit [][]byte
		for event := range strings.SplitSeq(line, ";") {
			commit = append(commit, s.event(strings.TrimSpace(event)))
		}
		s.commits = append(s.commits, commit)
	}
	return checker.Journal{Commits: s.commits}
}

func (s *scribe) event(text string) []byte {
	s.t.Helper()
	words := strings.Fields(text)
	kind := words[0]
	if long := short[kind]; long != "" {
		kind = long
	}
	words = words[1:]
	step := ""
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		step, words = words[0], words[1:]
	}
	fields := s.defaults(kind, step)
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			s.t.Fatalf("%q in %q is no field", w, text)
		}
		if value == "" {
			delete(fields, name)
			continue
		}
		if n, ok := strings.CutPrefix(value, "at+"); ok { // that many events from the start
			k, err := strconv.Atoi(n)
			if err != nil {
				s.t.Fatal(err)
			}
			fields[name] = at(k)
			continue
		}
		if !json.Valid([]byte(value)) {
			s.t.Fatalf("%q in %q is no JSON", value, text)
		}
		fields[name] = json.RawMessage(value)
	}
	return s.line(kind, step, fields)
}

func (s *scribe) defaults(kind, step string) object {
	failure := object{"code": "execution_failed", "message": "it broke", "retryable": true}
	switch kind {
	case "step_started":
		s.attempts[step]++
		return object{"attempt": s.attempts[step], "input_hash": "h", "effect": "read", "reservation": object{"steps": 1}}
	case "step_completed":
		return object{"output": nil}
	case "step_failed", "run_failed":
		return object{"failure": failure}
	case "step_skipped":
		return object{"reason": "not_taken"}
	case "run_succeeded":
		return object{"output": nil}
	case "decided", "node_adopted":
		return object{"scope": ""}
	case "step_adopted":
		return object{"from_run": "old", "output": nil}
	case "retry_reserved":
		return object{"scope": "", "round": 1, "due": begun, "reservation": object{"retries": 1}}
	case "run_suspended":
		return object{"reason": "recovery"}
	}
	return object{}
}

func (s *scribe) line(kind, step string, fields object) []byte {
	s.sequence++
	line := object{"run_id": runID, "sequence": s.sequence, "at": at(s.sequence), "type": kind}
	if step != "" {
		line["step_id"] = step
	}
	maps.Copy(line, fields)
	return marshal(s.t, line)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// effects reads `step attempt [key]` words as effect lines, three to a line.
func effects(t *testing.T, script string) []effectlog.Line {
	t.Helper()
	var lines []effectlog.Line
	for text := range strings.Lines(script) {
		w := strings.Fields(text)
		if len(w) == 0 {
			continue
		}
		attempt, err := strconv.Atoi(w[1])
		if err != nil {
			t.Fatal(err)
		}
		l := effectlog.Line{Run: runID, Step: w[0], Attempt: attempt, Key: w[2]}
		if len(w) > 3 {
			n, err := strconv.Atoi(w[3])
			if err != nil {
				t.Fatal(err)
			}
			l.At = at(n)
		}
		lines = append(lines, l)
	}
	return lines
}
