//go:build unix

package crash_test

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/culm-dev/culm/run"
)

// TestDamagedRowsBesideGoodOnes: a run of whose journal one byte was flipped is named
// as damaged, with the reason; everything else works, and it can be restarted.
func TestDamagedRowsBesideGoodOnes(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, "")
	bad := s.only().RunID
	owner.signal(os.Interrupt)
	eventually(t, "it says that it stops", func() bool { return strings.Contains(owner.stderr(), "Stopping") })
	s.letGo()
	owner.want(3)
	good := s.suspended(bad)
	s.flip(bad)

	for _, r := range s.list() {
		if (r.Damaged != "") != (r.RunID == bad) {
			t.Errorf("run %s is listed as damaged: %q", r.RunID, r.Damaged)
		}
	}
	shown := s.culm(0, "show", tail(bad))
	shown.wantSaid("damaged", "checksum", "culm restart "+tail(bad))
	if v := s.view(bad); v.Damaged == "" || v.Actions["continue"] == nil || *v.Actions["continue"] != "damaged" || v.Actions["restart"] != nil {
		t.Errorf("damaged %q, actions %v", v.Damaged, v.Actions)
	}
	s.culm(5, "continue", bad).wantSaid("error[damaged]")
	s.culm(5, "resolve", bad, "charge", "--rerun").wantSaid("error[damaged]")
	s.culm(5, "cancel", bad).wantSaid("error[damaged]")

	// Nobody else is harmed.
	s.culm(0, "recover")
	s.culm(0, "continue", good)
	if v := s.view(good); v.Status != run.StatusSucceeded {
		t.Errorf("the good run is %s", v.Status)
	}
	s.culm(0, "run", "charge.yaml", "--trust", "--allow", "exec")
	again := s.culm(0, "restart", bad)
	if again.stdout() != "charged 0\n" {
		t.Errorf("restarted, it gave %q", again.stdout())
	}
	newest := s.list()[0]
	if v := s.view(newest.RunID); v.RestartedFrom != bad || v.Status != run.StatusSucceeded {
		t.Errorf("the newest run is %s, restarted from %q", v.Status, v.RestartedFrom)
	}
	s.culm(0, "show", bad).wantSaid("damaged")
}

// TestADamagedListingRow: a run whose row in the table of runs was damaged is named so
// where runs are listed, and is in nobody's way.
func TestADamagedListingRow(t *testing.T) {
	t.Parallel()
	s, owner := charging(t, "")
	bad := s.only().RunID
	owner.signal(os.Interrupt)
	eventually(t, "it says that it stops", func() bool { return strings.Contains(owner.stderr(), "Stopping") })
	s.letGo()
	owner.want(3)
	good := s.suspended(bad)
	s.damage(`UPDATE streams SET session = 'locam' WHERE name = ?`, bad)

	damaged := make(map[string]bool)
	for _, r := range s.list() {
		damaged[r.RunID] = r.Damaged != ""
	}
	if want := map[string]bool{bad: true, good: false}; !maps.Equal(want, damaged) {
		t.Errorf("listed as damaged: %v, want %v", damaged, want)
	}
	s.wantText("damaged: ")
	s.culm(0, "show", bad).wantSaid("damaged")
	s.culm(5, "continue", bad).wantSaid("error[damaged]")
	s.culm(0, "recover")
	s.culm(0, "continue", good)
	s.culm(0, "run", "charge.yaml", "--trust", "--allow", "exec")
	s.culm(0, "restart", bad)
}

// suspended makes another run that was stopped in its middle step, and returns it.
func (s *site) suspended(other string) string {
	s.t.Helper()
	s.remove("go")
	s.remove("main.pid")
	owner := s.startCulm("run", "charge.yaml", "--trust", "--allow", "exec")
	eventually(s.t, "the step is at work", func() bool { return s.has("main.pid") })
	owner.signal(os.Interrupt)
	eventually(s.t, "it says that it stops", func() bool { return strings.Contains(owner.stderr(), "Stopping") })
	s.letGo()
	owner.want(3)
	for _, r := range s.list() {
		if r.RunID != other {
			return r.RunID
		}
	}
	s.t.Fatal("there is no other run")
	return ""
}

// flip changes a byte in the payload of a commit of a run's journal.
func (s *site) flip(id string) {
	s.t.Helper()
	s.damage(`UPDATE commits SET events = replace(events, '"step_completed"', '"step_complexed"')
		WHERE stream = (SELECT id FROM streams WHERE name = ?) AND events LIKE '%"charge"%"step_completed"%'`, id)
}

// damage changes one row of the database behind everybody's back.
func (s *site) damage(statement, id string) {
	s.t.Helper()
	db := s.database("rw")
	defer db.Close()
	done, err := db.ExecContext(s.t.Context(), statement, id)
	if err != nil {
		s.t.Fatal(err)
	}
	if n, err := done.RowsAffected(); n != 1 || err != nil {
		s.t.Fatalf("%d rows were damaged: %v", n, err)
	}
}
