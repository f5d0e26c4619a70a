package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
)

// repair opens a database that may be damaged.
func repair(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Repair: true})
	if err != nil {
		t.Fatalf("open for repair: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// findings are what Examine tells, as text.
func findings(t *testing.T, s *sqlite.Store) []string {
	t.Helper()
	var found []string
	if err := s.Examine(t.Context(), func(f store.Finding) {
		found = append(found, strings.TrimSpace(f.Code+" "+f.Stream)+": "+f.Message)
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func same() cmp.Options { return cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)} }

// salvage copies what reads of a database, and opens the copy.
func salvage(t *testing.T, s *sqlite.Store) (*sqlite.Store, map[string]store.Salvaged) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "saved", "culm.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	saved := make(map[string]store.Salvaged)
	if err := s.Salvage(t.Context(), path, func(r store.Salvaged) { saved[r.Stream] = r }); err != nil {
		t.Fatalf("salvage: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.partial*"))
	if len(left) > 0 || err != nil {
		t.Errorf("left over: %q, %v", left, err)
	}
	return open(t, path), saved
}

// Whatever row is damaged: Examine names the stream, and Salvage gives the
// others whole and of this one what verifies, as a stream that stays damaged.
func TestInvariant23_DamagedRowsAreNamedAndSalvaged(t *testing.T) {
	t.Parallel()
	const mine = ` WHERE stream = (SELECT id FROM streams WHERE name = 'victim')`
	path := sample(t)
	s := open(t, path)
	want, err := s.Extract(t.Context(), victim)
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Extract(t.Context(), bystander)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		damage string
		events uint64 // that are saved
		whole  bool   // nothing is lost
	}{
		"event":           {damage: `UPDATE commits SET events = '{"n":4}'` + mine + ` AND first = 3`, events: 2},
		"first commit":    {damage: `DELETE FROM commits` + mine + ` AND first = 1`, events: 0},
		"last commit":     {damage: `DELETE FROM commits` + mine + ` AND first = 3`, events: 2},
		"row":             {damage: `UPDATE streams SET session = 'x' WHERE name = 'victim'`, events: 3},
		"name":            {damage: `UPDATE streams SET name = 'victin' WHERE name = 'victim'`, events: 0},
		"mail":            {damage: `UPDATE mail SET body = x'00'` + mine, events: 3},
		"blob":            {damage: `UPDATE blobs SET data = x'00'` + mine, events: 3},
		"account":         {damage: `UPDATE accounts SET spent = '{}' WHERE name = 'victim'`, events: 3},
		"index entry":     {damage: `DELETE FROM commits_index` + mine, events: 3, whole: true},
		"index elsewhere": {damage: `UPDATE commits_index SET id = 999` + mine, events: 3, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			damaged := copyFile(t, path, t.TempDir(), func(b []byte) []byte { return b })
			execSQL(t, raw(t, damaged), tt.damage)
			s := repair(t, damaged)
			stream := victim
			if name == "name" {
				stream = "victin"
			}
			found := findings(t, s)
			named := false
			for _, f := range found {
				named = named || strings.HasPrefix(f, store.FoundDamagedStream+" "+stream)
				if strings.Contains(f, bystander) && !strings.HasPrefix(f, store.FoundDeadOwner) {
					t.Errorf("found %q", f)
				}
			}
			if !named {
				t.Errorf("found only %q", found)
			}
			saved, report := salvage(t, s)
			if r := report[bystander]; r.Damage != "" || r.Events != 3 {
				t.Errorf("of the other: %+v", r)
			}
			got, err := saved.Extract(t.Context(), bystander)
			if diff := cmp.Diff(other, got, same()); err != nil || diff != "" {
				t.Errorf("the other: %v\n%s", err, diff)
			}
			r := report[stream]
			if r.Events != tt.events || (r.Damage == "") != tt.whole {
				t.Errorf("reported: %+v", r)
			}
			got, err = saved.Extract(t.Context(), stream)
			if tt.whole {
				if diff := cmp.Diff(want, got, same()); err != nil || diff != "" {
					t.Errorf("salvaged: %v\n%s", err, diff)
				}
				return
			}
			var d *store.DamagedError
			if !errors.As(err, &d) || got == nil || got.Last() != tt.events {
				t.Fatalf("salvaged: %+v, %v", got, err)
			}
			for i, g := range got.Groups {
				if diff := cmp.Diff(want.Groups[i], g); diff != "" {
					t.Error(diff)
				}
			}
			// It must not go on without what it lost.
			if h, err := saved.Head(t.Context(), stream); !errors.As(err, &d) || h.Damaged == "" {
				t.Errorf("head: %+v, %v", h, err)
			}
		})
	}
}

// Any page is damaged: a salvaged copy tells nothing that is not true.
func TestInvariant23_DamagedPagesAreNamedAndSalvaged(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path)
	truth := make(map[string]*store.Extract)
	const streams = 20
	for i := range streams {
		name := fmt.Sprintf("stream-%02d", i)
		commit(t, s, newStream(name, `{"n":1}`))
		for n := range uint64(4) {
			b := appendTo(name, n+1, fmt.Sprintf(`{"n":%d,"pad":%q}`, n+2, strings.Repeat("p", 400)))
			data := bytes.Repeat([]byte(name), 200)
			b.Blobs = []store.NewBlob{{Stream: name, ID: store.BlobID(data), Data: data}}
			commit(t, s, b)
		}
		var err error
		if truth[name], err = s.Extract(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execSQL(t, raw(t, path), `PRAGMA wal_checkpoint(TRUNCATE)`)
	const page = 4096
	rng := rand.New(rand.NewPCG(3, 4))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	pages, unsaved, whole := int(info.Size()/page), 0, 0
	// The second page only says where other pages are used, for Compact: what reads
	// has no need of it.
	tried := 0
	for n := 2; n < pages; n += 5 {
		tried++
		damaged := copyFile(t, path, t.TempDir(), func(b []byte) []byte {
			for i := range 64 {
				b[n*page+i] ^= byte(1 + rng.IntN(255))
			}
			return b
		})
		s := repair(t, damaged)
		if len(findings(t, s)) == streams { // all owners are dead, and nothing else was noticed
			t.Errorf("page %d: nobody noticed", n)
		}
		to := filepath.Join(t.TempDir(), "culm.db")
		report := make(map[string]store.Salvaged)
		if err := s.Salvage(t.Context(), to, func(r store.Salvaged) { report[r.Stream] = r }); err != nil {
			unsaved++
			continue
		}
		saved := open(t, to)
		for name, r := range report {
			want := truth[name]
			got, err := saved.Extract(t.Context(), name)
			switch {
			case want == nil:
				t.Errorf("page %d: stream %q never was", n, name)
			case r.Damage == "":
				whole++
				if diff := cmp.Diff(want.Groups, got.Groups); err != nil || diff != "" {
					t.Errorf("page %d: %s: %v\n%s", n, name, err, diff)
				}
			case err == nil:
				t.Errorf("page %d: %s lost %q and is whole", n, name, r.Damage)
			}
		}
		// A backup of it is refused, and leaves nothing.
		to = filepath.Join(t.TempDir(), "culm.db")
		if err := s.Backup(t.Context(), to); err == nil {
			t.Errorf("page %d: it was backed up", n)
		}
		if left, _ := os.ReadDir(filepath.Dir(to)); len(left) > 0 {
			t.Errorf("page %d: the backup left %v", n, left)
		}
	}
	t.Logf("%d of %d pages, %d could not be saved at all, %d streams whole", tried, pages, unsaved, whole)
	if unsaved > tried/3 || whole < streams*tried/3 {
		t.Errorf("too little was saved")
	}
}

// countdown is a context that ends after it was looked at some times.
type countdown struct {
	context.Context
	left atomic.Int32
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A removal that is broken off has happened: what is left of it is nobody's, is
// named, and goes with the next compacting.
func TestARemovalIsFinishedLater(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path)
	commit(t, s, newStream("long"))
	for n := range uint64(2000) {
		commit(t, s, appendTo("long", n, fmt.Sprintf(`{"n":%d,"pad":%q}`, n+1, strings.Repeat("p", 500))))
	}
	last := appendTo("long", 2000, `{"n":2001}`)
	last.Appends[0].Release = true
	commit(t, s, last)
	commit(t, s, newStream("other", `{"n":1}`))
	ctx := &countdown{Context: t.Context()}
	ctx.left.Store(3)
	if err := s.Remove(ctx, "long", 2001); !errors.Is(err, context.Canceled) {
		t.Fatalf("remove: %v", err)
	}
	if _, err := s.Head(t.Context(), "long"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("head: %v", err)
	}
	if page, err := s.List(t.Context(), store.Query{}); err != nil || len(page.Rows) != 1 {
		t.Errorf("listed: %+v, %v", page, err)
	}
	if found := findings(t, s); len(found) != 1 || !strings.HasPrefix(found[0], store.FoundUnfinishedCommit) {
		t.Errorf("found %q", found)
	}
	commit(t, s, newStream("long", `{"n":1}`))
	before, err := s.Identity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	given, err := s.Compact(t.Context())
	if err != nil || given < 800_000 {
		t.Errorf("compact: %d, %v", given, err)
	}
	if after, err := s.Identity(t.Context()); err != nil || after.Size > before.Size-given/2 {
		t.Errorf("the files had %d bytes and have %d, %v", before.Size, after.Size, err)
	}
	if found := findings(t, s); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	for name := range map[string]bool{"long": true, "other": true} {
		if groups, err := s.Read(t.Context(), name, 0, 0); err != nil || len(groups) != 1 {
			t.Errorf("%s: %v, %v", name, groups, err)
		}
	}
}

// What an older version made keeps its size, and works.
func TestCompactWithoutRoomForIt(t *testing.T) {
	t.Parallel()
	path := dbPath(t)
	s := open(t, path)
	commit(t, s, newStream("s", `{"n":1}`))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := raw(t, path)
	execSQL(t, db, `PRAGMA journal_mode = delete`)
	execSQL(t, db, `PRAGMA auto_vacuum = none`)
	execSQL(t, db, `VACUUM`)
	s = open(t, path)
	c, err := s.Claim(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := appendTo("s", 1, `{"n":2}`)
	b.Appends[0].Claim, b.Appends[0].Release = c, true
	commit(t, s, b)
	c.Close()
	if err := s.Remove(t.Context(), "s", 2); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Compact(t.Context()); n != 0 || err != nil {
		t.Errorf("compact: %d, %v", n, err)
	}
}

// A handle for repair changes nothing.
func TestRepairWritesNothing(t *testing.T) {
	t.Parallel()
	path := sample(t)
	s := repair(t, path)
	if err := s.Commit(t.Context(), newStream("new")); !errors.Is(err, store.ErrPoisoned) {
		t.Errorf("commit: %v", err)
	}
	if err := s.Remove(t.Context(), victim, 3); !errors.Is(err, store.ErrPoisoned) {
		t.Errorf("remove: %v", err)
	}
	if err := s.Restore(t.Context(), &store.Extract{Stream: "new"}); !errors.Is(err, store.ErrPoisoned) {
		t.Errorf("restore: %v", err)
	}
}
