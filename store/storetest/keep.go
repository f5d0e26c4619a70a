package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
)

// Copier is a Harness whose store can be copied to a path. Without it the tests
// of Backup and Salvage are skipped.
type Copier interface {
	// OpenCopy opens the store that Backup or Salvage wrote to path.
	OpenCopy(t *testing.T, path string) store.Store
}

func (e *env) keeper(s store.Store) store.Keeper {
	e.Helper()
	k, ok := s.(store.Keeper)
	if !ok {
		e.Skip("this store keeps no house")
	}
	return k
}

func (e *env) copier() Copier {
	e.Helper()
	c, ok := e.h.(Copier)
	if !ok {
		e.Skip("this store cannot be copied to a path")
	}
	return c
}

// copied opens a copy that make writes.
func (e *env) copied(make func(path string) error) store.Store {
	e.Helper()
	c := e.copier()
	path := filepath.Join(e.TempDir(), "copy")
	if err := make(path); err != nil {
		e.Fatal(err)
	}
	return c.OpenCopy(e.T, path)
}

// full makes a stream that has one of everything.
func (e *env) full(s store.Store, stream string) {
	e.Helper()
	big := bytes.Repeat([]byte(stream), 5000)
	r := row(stream)
	r.Labels = map[string]string{"team": "a"}
	r.WakeAt, r.InDoubt, r.Suspension = epoch().Add(time.Hour), true, "in_doubt"
	e.commit(s, &store.Batch{
		Appends: []store.Append{{Stream: stream, Create: true, Row: r, Events: events(0, 2, "made")}},
		Blobs:   []store.NewBlob{{Stream: stream, ID: store.BlobID(big), Data: big}, {Stream: stream, ID: store.BlobID(nil)}},
		Spends:  []store.Spend{{Account: stream, Limits: units{"steps": 10}, Amounts: units{"steps": 3}}},
		Keys:    []store.KeyRecord{{Scope: "local", Key: "key of " + stream, Hash: "h", Stream: stream, At: epoch()}},
	})
	e.commit(s, post(stream, "m1", "first"))
	e.commit(s, post(stream, "m2", "second"))
	e.commit(s, batch(store.Append{Stream: stream, Expect: 2, Events: events(2, 3, "more"), TakeMail: []uint64{1}, Checkpoint: []byte("c")}))
}

func (e *env) extract(k store.Keeper, stream string) *store.Extract {
	e.Helper()
	x, err := k.Extract(e.ctx, stream)
	if err != nil {
		e.Fatalf("extract %s: %v", stream, err)
	}
	return x
}

// same checks that two handles tell the same of a stream, owners apart.
func (e *env) same(a, b store.Store, stream string) {
	e.Helper()
	if diff := compare(e.extract(e.keeper(a), stream), e.extract(e.keeper(b), stream)); diff != "" {
		e.Errorf("stream %s:\n%s", stream, diff)
	}
}

// examine gives the codes that Examine finds, each with its stream.
func (e *env) examine(k store.Keeper) []string {
	e.Helper()
	var codes []string
	if err := k.Examine(e.ctx, func(f store.Finding) { codes = append(codes, strings.TrimSpace(f.Code+" "+f.Stream)) }); err != nil {
		e.Fatal(err)
	}
	slices.Sort(codes)
	return codes
}

var keepTests = map[string]func(*env){
	"ExtractIsWhatTheStreamIs": func(e *env) {
		k := e.keeper(e.b)
		e.full(e.a, "s")
		x := e.extract(k, "s")
		h := e.head(e.a, "s")
		mail, err := e.a.Mail(e.ctx, "s", 0)
		account, aerr := e.a.Account(e.ctx, "s")
		if err != nil || aerr != nil {
			e.Fatal(err, aerr)
		}
		want := &store.Extract{Stream: "s", Groups: e.all(e.a, "s"), Row: h.Row, Epoch: h.Owner.Epoch, Mail: mail, Account: &account}
		for _, id := range []string{store.BlobID(nil), store.BlobID(bytes.Repeat([]byte("s"), 5000))} {
			data, err := e.a.Blob(e.ctx, "s", id)
			if err != nil {
				e.Fatal(err)
			}
			want.Blobs = append(want.Blobs, store.NewBlob{ID: id, Data: data})
		}
		byID := func(a, b store.NewBlob) int { return strings.Compare(a.ID, b.ID) }
		slices.SortFunc(want.Blobs, byID)
		slices.SortFunc(x.Blobs, byID)
		if diff := compare(want, x); diff != "" {
			e.Error(diff)
		}
		if len(x.Groups) != 2 || len(x.Mail) != 1 || x.Last() != 5 {
			e.Errorf("extract: %+v", x)
		}
		if _, err := k.Extract(e.ctx, "none"); !errors.Is(err, store.ErrNotFound) {
			e.Errorf("extract of nothing: %v", err)
		}
	},
	"RestoreMakesTheSameStream": func(e *env) {
		k := e.keeper(e.a)
		e.full(e.a, "s")
		e.create(e.a, "bare", 0)
		for _, name := range []string{"s", "bare"} {
			x := e.extract(k, name)
			if err := k.Restore(e.ctx, x); !errors.Is(err, store.ErrExists) {
				e.Errorf("restore over it: %v", err)
			}
			e.release(e.a, name)
			x = e.extract(k, name)
			if err := k.Remove(e.ctx, name, x.Last()); err != nil {
				e.Fatal(err)
			}
			if err := e.keeper(e.b).Restore(e.ctx, x); err != nil {
				e.Fatal(err)
			}
			if diff := compare(x, e.extract(k, name)); diff != "" {
				e.Errorf("restored %s:\n%s", name, diff)
			}
			if h := e.head(e.a, name); h.Owner.ID != "" || h.Checkpoint != nil || h.Damaged != "" {
				e.Errorf("head: %+v", h)
			}
		}
		// It is a stream like any other, and mail is deduplicated still.
		e.commit(e.b, post("s", "m2", "second"))
		e.refused(e.b, post("s", "m2", "other"), store.ErrMailConflict, "s")
		e.commit(e.b, post("s", "m3", "third"))
		epochBefore := e.head(e.a, "s").Owner.Epoch
		e.commit(e.b, batch(store.Append{Stream: "s", Claim: e.claim(e.b, "s"), Expect: 6, Events: events(6, 1, "taken"), TakeMail: []uint64{2, 3}}))
		if h := e.head(e.a, "s"); h.Last != 7 || h.Owner.Epoch != epochBefore+1 {
			e.Errorf("head: %+v", h)
		}
		if found := e.examine(k); len(found) > 0 {
			e.Errorf("found %q", found)
		}
	},
	"RestoreRefusesWhatDoesNotHoldTogether": func(e *env) {
		k := e.keeper(e.a)
		e.full(e.a, "s")
		for name, spoil := range map[string]func(x *store.Extract){
			"a hole":         func(x *store.Extract) { x.Groups = x.Groups[1:] },
			"an empty group": func(x *store.Extract) { x.Groups[1].Events = nil },
			"a line feed":    func(x *store.Extract) { x.Groups[0].Events[0] = []byte("{\n}") },
			"a blob":         func(x *store.Extract) { x.Blobs[0].Data = []byte("other") },
			"mail":           func(x *store.Extract) { x.Mail = append(x.Mail, x.Mail[0]) },
			"a row":          func(x *store.Extract) { x.Row.ID = "other" },
			"an account":     func(x *store.Extract) { x.Account.ID = "other" },
			"a name":         func(x *store.Extract) { x.Stream = "" },
		} {
			x := e.extract(k, "s")
			if x.Stream != "" {
				x.Stream, x.Row.ID, x.Account.ID = "t", "t", "t"
			}
			spoil(x)
			var d *store.DamagedError
			if err := k.Restore(e.ctx, x); !errors.As(err, &d) {
				e.Errorf("%s: %v", name, err)
			}
		}
		if _, err := e.a.Head(e.ctx, "t"); !errors.Is(err, store.ErrNotFound) {
			e.Errorf("head: %v", err)
		}
	},
	"RawHasEveryEvent": func(e *env) {
		k := e.keeper(e.a)
		e.full(e.a, "s")
		e.create(e.a, "t", 1)
		var raw bytes.Buffer
		if err := k.Raw(e.ctx, "s", &raw); err != nil {
			e.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(raw.String(), "\n"), "\n")
		if len(lines) != 5 {
			e.Fatalf("%d lines: %q", len(lines), lines)
		}
		for i, line := range lines {
			note := "made"
			if i >= 2 {
				note = "more"
			}
			// A store may keep something of its own at the end.
			if want := strings.TrimSuffix(string(event(uint64(i)+1, note)), "}"); !strings.HasPrefix(line, want) {
				e.Errorf("line %d is %q, want %q", i, line, want)
			}
		}
		if err := k.Raw(e.ctx, "none", &raw); !errors.Is(err, store.ErrNotFound) {
			e.Errorf("raw of nothing: %v", err)
		}
	},
	"RemoveTakesAllThatBelongsToIt": func(e *env) {
		k := e.keeper(e.a)
		e.full(e.a, "s")
		e.full(e.a, "t")
		if err := k.Remove(e.ctx, "s", 5); !errors.Is(err, store.ErrOwned) {
			e.Errorf("remove what is owned: %v", err)
		}
		if err := e.keeper(e.b).Remove(e.ctx, "s", 5); !errors.Is(err, store.ErrOwned) {
			e.Errorf("remove what another owns: %v", err)
		}
		e.release(e.a, "s")
		before := e.extract(k, "t")
		if err := k.Remove(e.ctx, "s", 5); !errors.Is(err, store.ErrConflict) {
			e.Errorf("remove what moved: %v", err)
		}
		claim := e.claim(e.b, "s")
		if err := k.Remove(e.ctx, "s", 6); !errors.Is(err, store.ErrOwned) {
			e.Errorf("remove what is claimed: %v", err)
		}
		claim.Close()
		if err := k.Remove(e.ctx, "s", 6); err != nil {
			e.Fatal(err)
		}
		if err := k.Remove(e.ctx, "s", 6); !errors.Is(err, store.ErrNotFound) {
			e.Errorf("remove it twice: %v", err)
		}
		for _, s := range []store.Store{e.a, e.b} {
			_, head := s.Head(e.ctx, "s")
			_, read := s.Read(e.ctx, "s", 0, 0)
			_, mail := s.Mail(e.ctx, "s", 0)
			_, blob := s.Blob(e.ctx, "s", store.BlobID(nil))
			_, account := s.Account(e.ctx, "s")
			for _, err := range []error{head, read, mail, blob, account} {
				if !errors.Is(err, store.ErrNotFound) {
					e.Errorf("after it was removed: %v", err)
				}
			}
			page, err := s.List(e.ctx, store.Query{})
			if err != nil || len(page.Rows) != 1 || page.Rows[0].ID != "t" {
				e.Errorf("listed: %+v, %v", page, err)
			}
		}
		if rec, err := e.a.Key(e.ctx, "local", "key of s"); err != nil || rec.Stream != "s" {
			e.Errorf("key: %+v, %v", rec, err)
		}
		if diff := compare(before, e.extract(k, "t")); diff != "" {
			e.Errorf("the other stream:\n%s", diff)
		}
		// The name is free, and nothing of the old stream is left in a new one.
		e.create(e.b, "s", 1)
		if x := e.extract(k, "s"); x.Last() != 1 || len(x.Mail) > 0 || len(x.Blobs) > 0 || x.Account != nil {
			e.Errorf("a new stream of that name: %+v", x)
		}
		e.commit(e.b, post("s", "m1", "another"))
	},
	// Removing the newest of everything must not make anything new look old.
	"WhatIsWrittenAfterARemovalIsFound": func(e *env) {
		k := e.keeper(e.a)
		e.create(e.a, "stays", 1)
		last := map[string]uint64{"stays": 1}
		changed, stop := e.b.Watch("stays")
		defer stop()
		for round := range 20 {
			name := fmt.Sprint("s", round)
			e.create(e.b, name, 1)
			e.release(e.b, name)
			if err := k.Remove(e.ctx, name, 2); err != nil {
				e.Fatal(err)
			}
			select {
			case <-changed: // of an earlier round, or without cause
			default:
			}
			e.commit(e.a, batch(store.Append{Stream: "stays", Expect: last["stays"], Events: events(last["stays"], 1, name)}))
			last["stays"]++
			e.signalled(changed, "a commit after a removal")
			next := fmt.Sprint("t", round)
			e.create(e.b, next, 2)
			last[next] = 2
		}
		for name, want := range last {
			if got := end(e.all(e.b, name)); got != want {
				e.Errorf("%s has %d events, want %d", name, got, want)
			}
		}
		if _, err := k.Compact(e.ctx); err != nil {
			e.Error(err)
		}
		if found := e.examine(k); len(found) > 0 {
			e.Errorf("found %q", found)
		}
	},
	"ALongStreamIsRemovedBesideCommits": func(e *env) {
		k := e.keeper(e.a)
		e.create(e.b, "long", 0)
		for last := uint64(0); last < 3000; last += 3 {
			b := batch(store.Append{Stream: "long", Expect: last, Events: events(last, 3, "long")})
			if last%300 == 0 {
				data := bytes.Repeat([]byte{byte(last / 300)}, 600_000)
				b.Blobs = []store.NewBlob{{Stream: "long", ID: store.BlobID(data), Data: data}}
			}
			e.commit(e.b, b)
		}
		e.release(e.b, "long")
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for i := range 3 {
			name := fmt.Sprint("busy", i)
			e.create(e.b, name, 0)
			wg.Go(func() {
				for last := uint64(0); ; last++ {
					select {
					case <-stop:
						return
					default:
					}
					if err := e.b.Commit(e.ctx, batch(store.Append{Stream: name, Expect: last, Events: events(last, 1, "busy")})); err != nil {
						e.Errorf("commit beside a removal: %v", err)
						return
					}
				}
			})
		}
		err := k.Remove(e.ctx, "long", 3001)
		_, cerr := k.Compact(e.ctx)
		close(stop)
		wg.Wait()
		if err != nil || cerr != nil {
			e.Errorf("remove: %v, compact: %v", err, cerr)
		}
		for i := range 3 {
			e.all(e.a, fmt.Sprint("busy", i))
		}
		if found := e.examine(k); len(found) > 0 {
			e.Errorf("found %q", found)
		}
	},
	"ForgetTakesOldKeysOfWhatIsGone": func(e *env) {
		k := e.keeper(e.a)
		for _, name := range []string{"gone", "here"} {
			e.create(e.a, name, 1)
			e.commit(e.a, &store.Batch{Keys: []store.KeyRecord{
				{Scope: "local", Key: "old " + name, Stream: name, At: epoch()},
				{Scope: "local", Key: "new " + name, Stream: name, At: epoch().Add(time.Hour)},
			}})
		}
		e.release(e.a, "gone")
		if n, err := k.Forget(e.ctx, epoch().Add(time.Minute)); n != 0 || err != nil {
			e.Errorf("forgot %d, %v", n, err)
		}
		if err := k.Remove(e.ctx, "gone", 2); err != nil {
			e.Fatal(err)
		}
		if n, err := k.Forget(e.ctx, epoch().Add(time.Minute)); n != 1 || err != nil {
			e.Errorf("forgot %d, %v", n, err)
		}
		for key, there := range map[string]bool{"old gone": false, "new gone": true, "old here": true, "new here": true} {
			if _, err := e.b.Key(e.ctx, "local", key); (err == nil) != there {
				e.Errorf("key %q: %v", key, err)
			}
		}
		e.commit(e.b, &store.Batch{Keys: []store.KeyRecord{{Scope: "local", Key: "old gone", Stream: "here", At: epoch()}}})
	},
	"ExamineNamesDeadOwners": func(e *env) {
		k := e.keeper(e.b)
		e.full(e.a, "s")
		e.create(e.b, "t", 1)
		if found := e.examine(k); len(found) > 0 {
			e.Errorf("found %q in a healthy store", found)
		}
		e.h.Kill(e.T, e.a)
		if found, want := e.examine(k), []string{store.FoundDeadOwner + " s"}; compare(want, found) != "" {
			e.Errorf("found %q, want %q", found, want)
		}
	},
}

// release gives a stream up, with one more event.
func (e *env) release(s store.Store, stream string) {
	e.Helper()
	last := e.head(s, stream).Last
	e.commit(s, batch(store.Append{Stream: stream, Expect: last, Events: events(last, 1, "released"), Release: true}))
}
