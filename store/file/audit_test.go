package file_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
)

const (
	victim    = "victim"
	bystander = "bystander"
)

// sample makes a store with something of everything in stream victim, and as much in
// stream bystander, and ends it: cleanly, or so that all is in the redo log.
func sample(t *testing.T, cleanly bool) string {
	t.Helper()
	dir := dirOf(t)
	s, err := file.Open(t.Context(), dir, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{victim, bystander} {
		made := newStream(name, `{"n":1}`, `{"n":2}`)
		made.Appends[0].Row.Labels = map[string]string{"a": "b"}
		made.Appends[0].Row.Session = "s"
		made.Keys = []store.KeyRecord{{Scope: "k", Key: name, Hash: "h", Stream: name, At: epoch()}}
		made.Spends = []store.Spend{
			{Account: name, Limits: map[string]int64{"u": 9}, Amounts: map[string]int64{"u": 1}},
			{Account: "shared-" + name, Limits: map[string]int64{"u": 9}, Amounts: map[string]int64{"u": 1}},
		}
		made.Blobs = []store.NewBlob{{Stream: name, ID: store.BlobID([]byte(name)), Data: []byte(name)}}
		made.Posts = []store.Post{{Stream: name, ID: "m1", Body: []byte("one")}, {Stream: name, ID: "m2", Body: []byte("two")}}
		commit(t, s, made)
	}
	for _, name := range []string{victim, bystander} {
		next := appendTo(name, 2, `{"n":3}`)
		next.Appends[0].Checkpoint = []byte("state")
		next.Appends[0].TakeMail = []uint64{1}
		commit(t, s, next)
	}
	end := s.Close
	if !cleanly {
		end = s.Abandon
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// audit asks a store everything that sample put there and returns each answer
// as text, "refused" for an error that is one of damage. An answer that says a
// thing was never there is an answer.
func audit(t *testing.T, s *file.Store) map[string]string {
	t.Helper()
	s.ForgetDamage()
	ctx := t.Context()
	answers := make(map[string]string)
	note := func(what string, err error, answer ...any) {
		switch {
		case err == nil:
			answers[what] = fmt.Sprintf("%+v", answer)
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrMailConflict), errors.Is(err, store.ErrOwned):
			answers[what] = err.Error()
		default:
			answers[what] = refused
		}
	}
	for _, name := range []string{victim, bystander} {
		head, err := s.Head(ctx, name)
		head.Owner.PID = 0
		checkpoint := string(head.Checkpoint)
		if checkpoint == "" { // a snapshot that is missing is no damage
			checkpoint = refused
		}
		head.Checkpoint, head.CheckpointAt = nil, 0
		answers[name+" checkpoint"] = checkpoint
		note(name+" head", err, head)
		groups, err := s.Read(ctx, name, 0, 0)
		note(name+" journal", err, groups)
		tail, err := s.Read(ctx, name, 2, 0)
		note(name+" tail", err, tail)
		mail, err := s.Mail(ctx, name, 0)
		for i := range mail {
			mail[i].At = epoch() // the one thing that differs from run to run
		}
		note(name+" mail", err, mail)
		blob, err := s.Blob(ctx, name, store.BlobID([]byte(name)))
		note(name+" blob", err, string(blob))
		key, err := s.Key(ctx, "k", name)
		note(name+" key", err, key)
		account, err := s.Account(ctx, name)
		note(name+" account", err, account)
		shared, err := s.Account(ctx, "shared-"+name)
		note(name+" shared account", err, shared)
		for id, body := range map[string]string{"m1": "one", "m2": "two"} {
			err := s.Commit(ctx, &store.Batch{Posts: []store.Post{{Stream: name, ID: id, Body: []byte(body)}}})
			note(name+" repeated post "+id, err)
		}
	}
	auditList(t, s, note)
	return answers
}

// auditList asks for the listing and, of each stream, whether it is in there as
// it should be. One that a damaged row stands for is refused.
func auditList(t *testing.T, s *file.Store, note func(string, error, ...any)) {
	t.Helper()
	damaged := 0
	for _, q := range []store.Query{{}, {Status: []string{"running"}}} {
		page, err := s.List(t.Context(), q)
		found := make(map[string]store.Listed)
		for _, r := range page.Rows {
			if r.Damaged != "" {
				damaged++
				continue
			}
			r.Owner.PID = 0
			found[r.ID] = r
		}
		missing := 0
		for _, name := range []string{victim, bystander} {
			what := fmt.Sprint(name, " listed by ", q.Status)
			switch r, ok := found[name]; {
			case err != nil:
				note(what, err)
			case ok:
				note(what, nil, r)
			case missing < damaged: // the damaged row of the whole listing is this one
				missing++
				note(what, errors.New("damaged"))
			default:
				note(what, nil, "missing")
			}
		}
		note(fmt.Sprint("rows listed by ", q.Status), err, len(found)+missing)
	}
}

const refused = "refused"

// lies are the answers that are neither true nor refused.
func lies(truth, answers map[string]string) []string {
	var list []string
	for what, answer := range answers {
		if answer != refused && answer != truth[what] {
			list = append(list, fmt.Sprintf("%s: %s\n\twas %s", what, answer, truth[what]))
		}
	}
	return list
}

func refusals(answers map[string]string) (list []string) {
	for what, answer := range answers {
		if answer == refused {
			list = append(list, what)
		}
	}
	return list
}
