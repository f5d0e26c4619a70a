//go:build unix

package crash_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/internal/testkit/effectlog"
)

// site is what one test has on disk: a data directory, a workspace with the log of
// side effects, and what its processes said.
type site struct {
	t         testing.TB
	dir       string
	data      string
	work      string
	effects   string
	kind      string // of store
	processes int
}

// The kinds of stores that processes share.
const (
	inSQLite = "sqlite"
	inFiles  = "file"
)

// onEachStore runs a test on every kind of store.
func onEachStore(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range []string{inSQLite, inFiles} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// where is the setting of the environment that says where the runs are.
func (s *site) where() string {
	if s.kind == inFiles {
		return "CULM_STORE=file:" + s.data
	}
	return "CULM_DATA=" + s.data
}

// newSite makes one over SQLite. It is removed unless the test fails.
func newSite(t testing.TB) *site {
	t.Helper()
	return newSiteOn(t, inSQLite)
}

// newSiteOn makes one over a kind of store.
func newSiteOn(t testing.TB, kind string) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "culm-crash-")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, kind: kind, dir: dir, data: filepath.Join(dir, "data"), work: filepath.Join(dir, "work")}
	s.effects = filepath.Join(s.work, "effects.jsonl")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the evidence is kept in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, d := range []string{s.work, filepath.Join(dir, "home")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// write makes a file of the workspace.
func (s *site) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// remove removes a file of the workspace.
func (s *site) remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.work, name)); err != nil {
		s.t.Fatal(err)
	}
}

// has reports whether a file of the workspace exists and is not empty.
func (s *site) has(name string) bool {
	info, err := os.Stat(filepath.Join(s.work, name))
	return err == nil && info.Size() > 0
}

// read gives a file of the workspace, trimmed.
func (s *site) read(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.work, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

// done gives the side effects so far, in order.
func (s *site) done() []effectlog.Line {
	s.t.Helper()
	lines, err := effectlog.Read(s.effects)
	if err != nil {
		s.t.Fatal(err)
	}
	return lines
}

// times counts the side effects of a step instance, over all runs.
func (s *site) times(step string) int {
	n := 0
	for _, l := range s.done() {
		if l.Step == step {
			n++
		}
	}
	return n
}

// wantTimes checks how often steps had their effect, and that no other had one.
func (s *site) wantTimes(want map[string]int) {
	s.t.Helper()
	got := make(map[string]int)
	for _, l := range s.done() {
		got[l.Step]++
	}
	for step, n := range want {
		if got[step] != n {
			s.t.Errorf("step %s had its effect %d times, want %d", step, got[step], n)
		}
		delete(got, step)
	}
	for step := range got {
		s.t.Errorf("step %s had an effect", step)
	}
}

// journals reads what is durable, from outside.
func (s *site) journals() []checker.Journal {
	s.t.Helper()
	journals, err := checker.Read(s.data)
	if err != nil {
		s.t.Fatal(err)
	}
	return journals
}

// journal is the journal of a run; of the only one if run is "".
func (s *site) journal(run string) checker.Journal {
	s.t.Helper()
	all := s.journals()
	if run == "" && len(all) == 1 {
		return all[0]
	}
	i := slices.IndexFunc(all, func(j checker.Journal) bool { return j.Run == run })
	if i < 0 {
		s.t.Fatalf("there is no run %q among %d", run, len(all))
	}
	return all[i]
}

// check is the end of every test: the outside checker finds nothing.
func (s *site) check() {
	s.t.Helper()
	for _, f := range checker.Check(s.journals(), s.done()) {
		s.t.Error(f)
	}
}

// wantExtended checks that a journal of before is an unchanged prefix of what it is now.
func (s *site) wantExtended(before checker.Journal) {
	s.t.Helper()
	for _, f := range checker.Extends(before, s.journal(before.Run)) {
		s.t.Error(f)
	}
}

// entry is an event as the tests read it.
type entry struct {
	Sequence uint64           `json:"sequence"`
	At       time.Time        `json:"at"`
	Type     string           `json:"type"`
	Step     string           `json:"step_id"`
	Attempt  int              `json:"attempt"`
	Reserved map[string]int64 `json:"reservation"`
	Deadline time.Time        `json:"deadline"`
	Reason   string           `json:"reason"`
	InDoubt  bool             `json:"in_doubt"`
	From     string           `json:"restarted_from"`
}

// entries are a journal's events.
func entries(t testing.TB, j checker.Journal) []entry {
	t.Helper()
	var all []entry
	for _, text := range slices.Concat(j.Commits...) {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			t.Fatalf("journal of %s: %v", j.Run, err)
		}
		all = append(all, e)
	}
	return all
}

// events are those of the run; see journal.
func (s *site) events(run string) []entry {
	s.t.Helper()
	return entries(s.t, s.journal(run))
}

// count counts events of a type and step.
func count(all []entry, typ, step string) int {
	n := 0
	for _, e := range all {
		if e.Type == typ && e.Step == step {
			n++
		}
	}
	return n
}

// recorded waits for an event of the only run, and returns it.
func (s *site) recorded(typ, step string) entry {
	s.t.Helper()
	var found entry
	eventually(s.t, typ+" "+step+" in the journal", func() bool {
		if len(s.journals()) != 1 {
			return false
		}
		all := s.events("")
		i := slices.IndexFunc(all, func(e entry) bool { return e.Type == typ && e.Step == step })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}
