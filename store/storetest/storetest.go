// Package storetest is the conformance suite that every [store.Store] passes.
// An adapter's tests call [Run] with a way to open handles on fresh data.
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
)

// Harness is one set of data, empty at first, and the handles on it.
type Harness interface {
	// Open gives a new handle, which stands for a process of its own.
	Open(t *testing.T) store.Store
	// Kill ends a handle as SIGKILL ends its process: without Close. What it
	// owned has a dead owner as soon as Kill returns.
	Kill(t *testing.T, s store.Store)
}

// Counter is a Harness that can tell how much its data takes, for the tests
// that a commit costs the same at any length of a stream.
type Counter interface {
	// Size counts what is stored, in any unit that grows with it, such as rows
	// and pages.
	Size(t *testing.T) int64
}

// Run runs the suite. open makes a harness on data of its own; tests run in
// parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	groups := []struct {
		name  string
		tests map[string]func(*env)
	}{
		{"Append", appendTests},
		{"Read", readTests},
		{"Atomic", atomicTests},
		{"Mail", mailTests},
		{"Ledger", ledgerTests},
		{"Blob", blobTests},
		{"Own", ownTests},
		{"List", listTests},
		{"Watch", watchTests},
		{"Handle", handleTests},
		{"Keep", keepTests},
		{"Copy", copyTests},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range g.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(newEnv(t, open(t)))
				})
			}
		})
	}
}

// env is what one test works with: two handles, a and b.
type env struct {
	*testing.T
	h    Harness
	a, b store.Store
	ctx  context.Context
}

func newEnv(t *testing.T, h Harness) *env {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return &env{T: t, h: h, a: h.Open(t), b: h.Open(t), ctx: ctx}
}

// epoch is the creation time of the first row that a test makes.
func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC) }

func row(stream string) *store.Row {
	return &store.Row{ID: stream, Kind: "run", Status: "running", Workflow: "wf@1", Session: "local", Created: epoch(), Updated: epoch()}
}

// event makes the bytes of an event.
func event(sequence uint64, note string) []byte {
	return fmt.Appendf(nil, `{"sequence":%d,"at":"2026-03-01T12:00:00Z","type":"noted","note":%q}`, sequence, note)
}

// events makes n events that follow after.
func events(after uint64, n int, note string) [][]byte {
	var list [][]byte
	for i := range n {
		list = append(list, event(after+uint64(i)+1, note))
	}
	return list
}

func batch(appends ...store.Append) *store.Batch { return &store.Batch{Appends: appends} }

// create makes a stream of n events, owned by s.
func (e *env) create(s store.Store, stream string, n int) {
	e.Helper()
	e.commit(s, batch(store.Append{Stream: stream, Create: true, Row: row(stream), Events: events(0, n, "made")}))
}

func (e *env) commit(s store.Store, b *store.Batch) {
	e.Helper()
	if err := s.Commit(e.ctx, b); err != nil {
		e.Fatalf("commit: %v", err)
	}
}

func (e *env) head(s store.Store, stream string) store.Head {
	e.Helper()
	h, err := s.Head(e.ctx, stream)
	if err != nil {
		e.Fatalf("head of %s: %v", stream, err)
	}
	return h
}

func (e *env) claim(s store.Store, stream string) store.Claim {
	e.Helper()
	c, err := s.Claim(e.ctx, stream)
	if err != nil {
		e.Fatalf("claim %s: %v", stream, err)
	}
	e.Cleanup(c.Close)
	return c
}

// all reads a whole journal.
func (e *env) all(s store.Store, stream string) []store.Group {
	e.Helper()
	var groups []store.Group
	after := uint64(0)
	for {
		page, err := s.Read(e.ctx, stream, after, 1<<20)
		if err != nil {
			e.Fatalf("read %s after %d: %v", stream, after, err)
		}
		if len(page) == 0 {
			return groups
		}
		groups = append(groups, page...)
		after = end(page)
	}
}

// end is the last sequence of some groups.
func end(groups []store.Group) uint64 {
	g := groups[len(groups)-1]
	return g.First + uint64(len(g.Events)) - 1
}

// refused commits what must be refused with an error that matches want, and
// checks that the streams named did not change.
func (e *env) refused(s store.Store, b *store.Batch, want error, streams ...string) {
	e.Helper()
	before := make([]store.Head, len(streams))
	for i, name := range streams {
		before[i] = e.head(s, name)
	}
	if err := s.Commit(e.ctx, b); !matches(err, want) {
		e.Fatalf("commit: %v, want %v", err, want)
	}
	for i, name := range streams {
		if diff := compare(before[i], e.head(s, name)); diff != "" {
			e.Errorf("a refused commit changed stream %s:\n%s", name, diff)
		}
	}
}
