package file_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
)

// contents are all files of a store but its locks, by name.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(filepath.Dir(path)) == "locks" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		all[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every byte of every file of a stream is flipped, and every file cut at every length.
// Each time the store must notice, tell no lie, and tell the whole truth about the
// other stream.
func TestInvariant23_DamagedFilesOfAStream(t *testing.T) {
	t.Parallel()
	dir := sample(t, true)
	truth := audit(t, open(t, dir))
	if list := refusals(truth); len(list) > 0 {
		t.Fatalf("the sample is damaged already: %q", list)
	}
	for name, content := range contents(t, dir) {
		if !strings.HasPrefix(name, "runs/victim/") && !mentions(name, content) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := filepath.Join(t.TempDir(), "store")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			s := open(t, copied)
			text := len(bytes.TrimRight(content, " \n"))
			for at := range content {
				if at > text && at%32 != 0 && at < len(content)-1 {
					continue // one of many spaces that fill a head up
				}
				flipped := bytes.Clone(content)
				flipped[at] ^= 1
				tryDamage(t, s, truth, content, filepath.Join(copied, name), fmt.Sprint("flip of byte ", at), flipped)
				if at%7 == 0 {
					tryDamage(t, s, truth, content, filepath.Join(copied, name), fmt.Sprint("cut at ", at), content[:at])
				}
			}
			if err := os.WriteFile(filepath.Join(copied, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
			if list := lies(truth, audit(t, s)); len(list) > 0 {
				t.Errorf("after all was restored: %q", list)
			}
		})
	}
}

// mentions tells whether a key or an account is the victim's.
func mentions(name string, content []byte) bool {
	dir := filepath.Dir(name)
	return (dir == "keys" || dir == "accounts") && bytes.Contains(content, []byte(victim))
}

func tryDamage(t *testing.T, s *file.Store, truth map[string]string, was []byte, path, what string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	answers := audit(t, s)
	for _, lie := range lies(truth, answers) {
		t.Errorf("%s\n\t%s", what, lie)
	}
	list := refusals(answers)
	if len(list) == 0 && !bytes.Equal(bytes.TrimRight(content, " \n"), bytes.TrimRight(was, " \n")) {
		t.Errorf("%s: nobody noticed", what)
	}
	for _, refusal := range list {
		if strings.HasPrefix(refusal, bystander) {
			t.Errorf("%s hurt %s", what, refusal)
		}
	}
}

// The files that are of no stream are damaged anywhere: whatever the store still says
// is true.
func TestInvariant23_DamagedLogAndFormat(t *testing.T) {
	t.Parallel()
	for _, cleanly := range []bool{true, false} {
		dir := sample(t, cleanly)
		whole := contents(t, dir)
		intact := open(t, dir)
		truth := audit(t, intact)
		if err := intact.Close(); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 4))
		try := func(name, what string, content []byte) {
			copied := filepath.Join(t.TempDir(), "store")
			for other, as := range whole {
				path := filepath.Join(copied, other)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if other == name {
					as = content
				}
				if err := os.WriteFile(path, as, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := file.Open(t.Context(), copied, file.Options{})
			if err != nil {
				return // refused
			}
			answers := audit(t, s)
			if list := lies(truth, answers); len(list) > 0 {
				t.Errorf("%s of %s: %s", what, name, strings.Join(list, "\n\t"))
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
		for _, name := range []string{"format.json", "log/redo", "log/applied"} {
			content := whole[name]
			end := min(len(content), 14<<10)
			for range 20 {
				at := rng.IntN(end)
				if name == "log/redo" && rng.IntN(2) == 0 {
					at = []int{0, 4096}[rng.IntN(2)] + rng.IntN(36)
				}
				flipped := bytes.Clone(content)
				flipped[at] ^= 1 << rng.IntN(8)
				try(name, fmt.Sprint("flip of byte ", at), flipped)
				try(name, fmt.Sprint("cut at ", at), content[:at])
			}
		}
	}
}

// What cannot have come from a commit, and what belongs to another one.
func TestInvariant23_ContradictionsAndJunk(t *testing.T) {
	t.Parallel()
	const journal, head, snapshot = "runs/victim/journal.jsonl", "runs/victim/head.json", "runs/victim/snapshot.json"
	torn := func(more string) func([]byte) []byte {
		return func(b []byte) []byte { return append(b, more...) }
	}
	for name, test := range map[string]struct {
		file    string
		change  func([]byte) []byte
		damaged bool
	}{
		"a torn line after the end":   {journal, torn(`{"n":4,"_com`), false},
		"a whole line after the end":  {journal, torn("{\"n\":4}\n"), false},
		"NUL bytes after the end":     {journal, torn("\x00\x00\x00\x00"), false},
		"NUL bytes in the journal":    {journal, func(b []byte) []byte { copy(b[2:], "\x00\x00"); return b }, true},
		"the last commit is missing":  {journal, func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] }, true},
		"the journal is missing":      {journal, nil, true},
		"the head is missing":         {head, nil, true},
		"the snapshot is missing":     {snapshot, nil, false},
		"all mail is missing":         {"runs/victim/mail", nil, true},
		"the seen ones are missing":   {"runs/victim/seen.jsonl", nil, true},
		"the snapshot is a torn line": {snapshot, func(b []byte) []byte { return b[:len(b)/2] }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := sample(t, true)
			before := open(t, dir)
			truth := audit(t, before)
			if err := before.Close(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, test.file)
			if test.change == nil {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			} else {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, test.change(b), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, dir)
			answers := audit(t, s)
			if list := lies(truth, answers); len(list) > 0 {
				t.Errorf("lies: %q", list)
			}
			noticed := 0
			for _, refusal := range refusals(answers) {
				if strings.HasPrefix(refusal, bystander) {
					t.Errorf("hurt %s", refusal)
				}
				if !strings.HasSuffix(refusal, "checkpoint") {
					noticed++
				}
			}
			if (noticed > 0) != test.damaged {
				t.Errorf("%d answers were refused: %q", noticed, refusals(answers))
			}
			if !test.damaged {
				goesOn(t, s)
			}
		})
	}
}

// goesOn checks that the victim can be owned and appended to.
func goesOn(t *testing.T, s *file.Store) {
	t.Helper()
	c, err := s.Claim(t.Context(), victim)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := appendTo(victim, 3, `{"n":4}`)
	b.Appends[0].Claim = c
	commit(t, s, b)
	groups, err := s.Read(t.Context(), victim, 0, 0)
	if err != nil || len(groups) != 3 {
		t.Errorf("%d groups, %v", len(groups), err)
	}
}

// A head or a snapshot of another moment contradicts the journal.
func TestInvariant23_FilesOfAnotherMoment(t *testing.T) {
	t.Parallel()
	dir := dirOf(t)
	s := open(t, dir)
	made := newStream("s", `{"n":1}`)
	made.Appends[0].Checkpoint = []byte(`{"at":1}`)
	commit(t, s, made)
	head1, snapshot1 := filepath.Join(dir, "runs/s/head.json"), filepath.Join(dir, "runs/s/snapshot.json")
	early := contents(t, dir)
	next := appendTo("s", 1, `{"n":2}`)
	next.Appends[0].Checkpoint = []byte(`{"at":2}`)
	next.Appends[0].Release = true
	commit(t, s, next)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	late := contents(t, dir)
	look := func() (store.Head, error) {
		s := open(t, dir)
		defer s.Close()
		return s.Head(t.Context(), "s")
	}
	put := func(path string, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(snapshot1, early["runs/s/snapshot.json"])
	if h, err := look(); err != nil || h.Checkpoint != nil || h.Last != 2 {
		t.Errorf("with an old snapshot: %+v, %v", h, err)
	}
	var d *store.DamagedError
	put(head1, early["runs/s/head.json"])
	if _, err := look(); !asError(err, &d) || !strings.Contains(d.Reason, "goes on after event 1") {
		t.Errorf("with an old head: %v", err)
	}
	put(snapshot1, late["runs/s/snapshot.json"])
	put(filepath.Join(dir, "runs/s/journal.jsonl"), early["runs/s/journal.jsonl"])
	if _, err := look(); !asError(err, &d) || !strings.Contains(d.Reason, "its snapshot is of event 2") {
		t.Errorf("with an old head and journal: %v", err)
	}
}
