package file_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
)

func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func dirOf(t *testing.T) string { return filepath.Join(t.TempDir(), "store") }

func newStream(name string, events ...string) *store.Batch {
	b := appendTo(name, 0, events...)
	b.Appends[0].Create = true
	b.Appends[0].Row = &store.Row{ID: name, Kind: "run", Status: "running", Workflow: "wf@1", Created: epoch()}
	return b
}

func appendTo(name string, expect uint64, events ...string) *store.Batch {
	a := store.Append{Stream: name, Expect: expect}
	for _, e := range events {
		a.Events = append(a.Events, []byte(e))
	}
	return &store.Batch{Appends: []store.Append{a}}
}

func commit(t *testing.T, s store.Store, b *store.Batch) {
	t.Helper()
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func head(t *testing.T, s store.Store, stream string) store.Head {
	t.Helper()
	h, err := s.Head(t.Context(), stream)
	if err != nil {
		t.Fatalf("head of %s: %v", stream, err)
	}
	return h
}

// work makes commit number n of stream s, of something of everything: events, mail
// that comes and is taken, blobs, a checkpoint, keys, spends.
func work(n uint64) *store.Batch {
	if n == 0 {
		b := newStream("s", event(1))
		b.Spends = []store.Spend{{Account: "s", Limits: map[string]int64{"u": 1 << 40}}, {Account: "other", Limits: map[string]int64{}}}
		return b
	}
	b := appendTo("s", n, event(n+1))
	b.Appends[0].Row = &store.Row{Kind: "run", Status: fmt.Sprint("status-", n), Workflow: "wf@1", Created: epoch()}
	data := []byte(fmt.Sprint("blob ", n))
	if n%7 == 3 { // too large for the log
		data = append(data, make([]byte, 70<<10)...)
	}
	b.Blobs = []store.NewBlob{{Stream: "s", ID: store.BlobID(data), Data: data}}
	b.Spends = []store.Spend{{Account: "s", Amounts: map[string]int64{"u": 1}}, {Account: "other", Amounts: map[string]int64{"u": 1}}}
	b.Keys = []store.KeyRecord{{Scope: "k", Key: fmt.Sprint(n), Stream: "s", At: epoch()}}
	b.Posts = []store.Post{{Stream: "s", ID: fmt.Sprint("m", n), Body: []byte(fmt.Sprint(n))}}
	if n > 1 {
		b.Appends[0].TakeMail = []uint64{n - 1}
	}
	if n%3 == 0 {
		b.Appends[0].Checkpoint = fmt.Appendf(nil, `{"at":%d}`, n+1)
	}
	return b
}

func event(n uint64) string { return fmt.Sprintf(`{"sequence":%d}`, n) }

// worked checks that a store holds the first commits of work, at least some and at
// most others, each whole; and returns how many.
func worked(ctx context.Context, s store.Store, least, most uint64) (uint64, error) {
	h, err := s.Head(ctx, "s")
	if errors.Is(err, store.ErrNotFound) && least == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := h.Last
	if n < least || n > most {
		return n, fmt.Errorf("%d commits are there, expected %d to %d", n, least, most)
	}
	groups, err := s.Read(ctx, "s", 0, 1<<30)
	if err != nil || uint64(len(groups)) != n {
		return n, fmt.Errorf("%d groups of %d: %w", len(groups), n, err)
	}
	for i, g := range groups {
		if want := event(uint64(i + 1)); len(g.Events) != 1 || string(g.Events[0]) != want {
			return n, fmt.Errorf("group %d: %q", i, g.Events)
		}
	}
	if n == 0 {
		return 0, nil
	}
	if want := (n - 1) / 3 * 3; n > 3 && (h.CheckpointAt != want+1 || string(h.Checkpoint) != fmt.Sprintf(`{"at":%d}`, want+1)) {
		return n, fmt.Errorf("checkpoint of event %d: %q", h.CheckpointAt, h.Checkpoint)
	}
	if n > 1 && h.Row.Status != fmt.Sprint("status-", n-1) {
		return n, fmt.Errorf("row %+v", h.Row)
	}
	return n, errors.Join(workedBeside(ctx, s, n), workedMail(ctx, s, n))
}

// workedBeside checks what stands beside the journal after n commits.
func workedBeside(ctx context.Context, s store.Store, n uint64) error {
	for _, account := range []string{"s", "other"} {
		a, err := s.Account(ctx, account)
		if err != nil || a.Spent["u"] != int64(n-1) {
			return fmt.Errorf("account %s: %+v: %w", account, a, err)
		}
	}
	for i := uint64(1); i <= n; i++ {
		_, err := s.Key(ctx, "k", fmt.Sprint(i))
		if i == n && !errors.Is(err, store.ErrNotFound) || i < n && err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
		data := work(i).Blobs[0]
		got, err := s.Blob(ctx, "s", data.ID)
		if i == n && !errors.Is(err, store.ErrNotFound) || i < n && (err != nil || len(got) != len(data.Data)) {
			return fmt.Errorf("blob %d: %d bytes, %w", i, len(got), err)
		}
	}
	page, err := s.List(ctx, store.Query{})
	if err != nil || len(page.Rows) != 1 || page.Rows[0].Last != n || page.Rows[0].Damaged != "" {
		return fmt.Errorf("listing: %+v, %w", page, err)
	}
	return nil
}

func workedMail(ctx context.Context, s store.Store, n uint64) error {
	mail, err := s.Mail(ctx, "s", 0)
	if n == 1 && err == nil && len(mail) == 0 {
		return nil
	}
	if err != nil || len(mail) != 1 || mail[0].Number != n-1 || string(mail[0].Body) != fmt.Sprint(n-1) {
		return fmt.Errorf("mail: %+v, %w", mail, err)
	}
	return nil
}
