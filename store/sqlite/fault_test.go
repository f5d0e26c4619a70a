package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
)

// members builds a group of which the second writes a journal row and only then
// fails, so that only a savepoint keeps it from taking the others along.
func members() []*store.Batch {
	bad := appendTo("b", 1, `{"n":"bad"}`)
	bad.Posts = []store.Post{{Stream: "none", ID: "m"}}
	return []*store.Batch{appendTo("a", 1, `{"n":2}`), bad, appendTo("c", 1, `{"n":2}`), appendTo("b", 1, `{"n":"good"}`)}
}

func TestAMemberThatFailsHalfWayFailsAlone(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t))
	for _, name := range []string{"a", "b", "c"} {
		commit(t, s, newStream(name, `{"n":1}`))
	}
	for i, err := range s.Group(members()...) {
		if want := i == 1; isError(err, store.ErrNotFound) != want || (err != nil) != want {
			t.Errorf("member %d: %v", i, err)
		}
	}
	for name, want := range map[string]string{"a": `{"n":2}`, "b": `{"n":"good"}`, "c": `{"n":2}`} {
		groups, err := s.Read(t.Context(), name, 1, 0)
		if err != nil || len(groups) != 1 || string(groups[0].Events[0]) != want {
			t.Errorf("%s: %+v, %v", name, groups, err)
		}
	}
}

// Members of one group see each other: the second append to a stream follows
// the first, a third at the same sequence conflicts.
func TestMembersOfAGroupFollowEachOther(t *testing.T) {
	t.Parallel()
	s := open(t, dbPath(t))
	commit(t, s, newStream("other"))
	errs := s.Group(newStream("s", `{"n":1}`), appendTo("s", 1, `{"n":2}`), appendTo("s", 1, `{"n":"other"}`),
		&store.Batch{Posts: []store.Post{{Stream: "s", ID: "m"}}}, appendTo("s", 2, `{"n":3}`))
	for i, err := range errs {
		if want := i == 2; isError(err, store.ErrConflict) != want || (err != nil) != want {
			t.Errorf("member %d: %v", i, err)
		}
	}
	if h := head(t, s, "s"); h.Last != 3 {
		t.Errorf("head: %+v", h)
	}
	commit(t, s, appendTo("s", 3, `{"n":4}`))
}

func TestAForeignLockIsWaitedForAndGivesUpInPlace(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	patient := open(t, path)
	commit(t, patient, newStream("s", `{}`))
	hasty, err := sqlite.Open(t.Context(), path, sqlite.Options{BusyTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hasty.Close(); err != nil {
			t.Error(err)
		}
	}()
	commit(t, hasty, newStream("r", `{}`))

	tool, err := raw(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	if err := hasty.Commit(t.Context(), appendTo("r", 1, `{}`)); err == nil || isError(err, store.ErrPoisoned) {
		t.Errorf("commit beside a foreign lock: %v", err)
	}
	if h := head(t, hasty, "r"); h.Last != 1 {
		t.Errorf("head: %+v", h)
	}
	done := make(chan error, 1)
	go func() { done <- patient.Commit(t.Context(), appendTo("s", 1, `{}`)) }()
	if _, err := tool.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("commit that waited: %v", err)
	}
	commit(t, hasty, appendTo("r", 1, `{}`))
}

func TestAFullDatabaseRecoversInPlace(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path)
	commit(t, s, newStream("s", `{}`))
	if err := s.LimitPages(60); err != nil {
		t.Fatal(err)
	}
	last, full := uint64(1), error(nil)
	for full == nil {
		if full = s.Commit(t.Context(), appendTo("s", last, strings.Repeat("x", 3000))); full == nil {
			last++
		}
	}
	if isError(full, store.ErrPoisoned) || !isError(full, store.ErrTryAgain) || !strings.Contains(full.Error(), "full") {
		t.Errorf("commit into a full database: %v", full)
	}
	if h := head(t, s, "s"); h.Last != last {
		t.Errorf("%d commits acknowledged, %d there", last, h.Last)
	}
	if err := s.LimitPages(6000); err != nil {
		t.Fatal(err)
	}
	commit(t, s, appendTo("s", last, strings.Repeat("x", 3000)))
	if groups, err := s.Read(t.Context(), "s", 0, 1<<30); err != nil || len(groups) != int(last)+1 {
		t.Errorf("%d groups, %v", len(groups), err)
	}
}

// The child fills a real file system; then its parent makes room.
func TestAFullDiskRecoversInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, ok := startOnSmallDisk(t, dir)
	if !ok {
		t.Skip("a small file system cannot be mounted here")
	}
	if line := p.next(); !strings.HasPrefix(line, "full after ") {
		t.Fatalf("the child says %q", line)
	}
	p.tell("there is room now")
	if line := p.next(); line != "recovered" {
		t.Errorf("the child says %q", line)
	}
}

// A write error that is not a full disk: what the disk holds is no longer known
// to this process, only to one that opens the file anew.
func TestAnIOErrorPoisonsTheHandle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "culm.db")
	p, ok := startWithFileLimit(t, path)
	if !ok {
		t.Skip("the size of files cannot be limited here")
	}
	var acknowledged uint64
	if _, err := fmt.Sscanf(p.next(), "poisoned after %d", &acknowledged); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	groups, err := s.Read(t.Context(), "s", 0, 1<<30)
	if err != nil || uint64(len(groups)) < acknowledged || uint64(len(groups)) > acknowledged+1 {
		t.Errorf("%d commits acknowledged, %d there, %v", acknowledged, len(groups), err)
	}
	if h := head(t, s, "s"); h.Owner.ID == "" || h.Owner.Alive {
		t.Errorf("a poisoned owner is %+v", h.Owner)
	}
	claim, err := s.Claim(t.Context(), "s")
	if err != nil {
		t.Fatalf("take over from a poisoned owner: %v", err)
	}
	claim.Close()
	p.tell("enough")
}
