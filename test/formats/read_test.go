package formats_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/test/formats/sample"
)

// What is shown of each run is what the version that made the sample showed of it;
// there may be more.
func TestRunsAreShownAsTheyWere(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		w := &sample.World{Now: sample.Later()}
		e, err := w.Open(c.Context(), c.url)
		if err != nil {
			c.Fatal(err)
		}
		got, err := sample.Look(c.Context(), e)
		if err != nil {
			c.Fatal(err)
		}
		want := c.seen()
		for name, s := range want {
			shownAs(c.T, name+".listed", s.Listed, got[name].Listed)
			shownAs(c.T, name+".view", s.View, got[name].View)
		}
		if len(got) != len(want) {
			c.Errorf("%d runs, want %d", len(got), len(want))
		}
		if err := e.Close(c.Context()); err != nil {
			c.Error(err)
		}
		c.check()
	})
}

// seen is what the sample says was seen, by run.
func (c *copied) seen() map[string]sample.Seen {
	c.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", c.name, sample.SeenFile))
	if err != nil {
		c.Fatal(err)
	}
	all := make(map[string]sample.Seen)
	for line := range bytes.Lines(text) {
		var s sample.Seen
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&s); err != nil {
			c.Fatal(err)
		}
		all[s.Run] = s
	}
	return all
}

// shownAs checks that got has everything that want has.
func shownAs(t *testing.T, at string, want, got any) {
	t.Helper()
	w, object := want.(map[string]any)
	g, same := got.(map[string]any)
	if !object || !same {
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s is %v, it was %v", at, got, want)
		}
		return
	}
	for k, v := range w {
		if _, has := g[k]; !has {
			t.Errorf("%s.%s is not shown any more; it was %v", at, k, v)
			continue
		}
		shownAs(t, at+"."+k, v, g[k])
	}
}

// Every journal folds, event by event, to what is shown of the run; and the store
// itself finds nothing wrong.
func TestJournalsFold(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		e := c.engine()
		for name, id := range ids(c.T, e) {
			x, err := e.Export(c.Context(), id)
			if err != nil || x.Damaged != "" || x.Snapshot == nil {
				c.Errorf("run %s is exported with damage %q, error %v", name, x.Damaged, err)
				continue
			}
			folded := foldAll(c.T, x.Extract).Snapshot()
			view, err := e.Progress(c.Context(), id, culm.ProgressOptions{Session: culm.AnySession})
			if err != nil {
				c.Fatal(err)
			}
			if folded.LastSequence != view.LastSequence || folded.Status != view.Status || len(folded.Steps) != len(view.Steps) {
				c.Errorf("run %s folds to %s at %d, and is shown as %s at %d", name, folded.Status, folded.LastSequence, view.Status, view.LastSequence)
			}
		}
	})
}

func foldAll(t *testing.T, x *store.Extract) *run.State {
	t.Helper()
	st := run.NewState()
	for _, g := range x.Groups {
		for _, line := range g.Events {
			ev, err := run.Decode(line)
			if err == nil {
				err = st.Apply(ev)
			}
			if err != nil {
				t.Fatalf("run %s: %v", x.Stream, err)
			}
		}
	}
	return st
}

// Samples have everything that this version can write: whoever adds something adds a
// sample.
func TestSamplesHaveEverything(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "file"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			events := map[run.Type]bool{}
			format, formats := 0, map[string]bool{}
			for _, name := range samples(t, kind) {
				formats[name] = true
				c := copyOf(t, name)
				c.withStore(func(st store.Store) error {
					who, err := st.(store.Keeper).Identity(t.Context())
					format = max(format, who.Format)
					return err
				})
				c.types(events)
			}
			for _, typ := range eventTypes(t) {
				if !events[typ] {
					t.Errorf("no sample of a store of %s has an event %s: see docs/formats.md, Old formats", kind, typ)
				}
			}
			fresh := freshFormat(t, kind)
			if !formats[fmt.Sprintf("%s-%d", kind, fresh)] || format != fresh {
				t.Errorf("this version writes %s format %d, and there is no sample of it: see docs/formats.md, Old formats", kind, fresh)
			}
		})
	}
	if want := fmt.Sprintf("export-%d", runfiles.Format); !slices.Contains(samples(t, "export"), want) {
		t.Errorf("there is no sample %s: see docs/formats.md, Old formats", want)
	}
}

// types notes the types of all events.
func (c *copied) types(found map[run.Type]bool) {
	c.Helper()
	for _, j := range c.journals() {
		for _, line := range slices.Concat(j.Commits...) {
			var head run.Header
			if err := json.Unmarshal(line, &head); err != nil {
				c.Fatal(err)
			}
			found[head.Type] = true
		}
	}
}

// eventTypes are all that a journal may hold, from the page that has them.
func eventTypes(t *testing.T) []run.Type {
	t.Helper()
	f, err := os.Open("../../docs/storage.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found := make(map[run.Type]bool)
	in := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		in = in && strings.HasPrefix(line, "|") || line == "| type | says |"
		cells := strings.Split(line, "|")
		if !in || len(cells) < 3 || !strings.HasPrefix(line, "| `") {
			continue
		}
		for name := range strings.FieldsSeq(strings.ReplaceAll(cells[1], "`", "")) {
			found[run.Type(name)] = true
		}
	}
	if len(found) < 20 {
		t.Fatalf("docs/storage.md has %d event types", len(found))
	}
	return slices.Sorted(maps.Keys(found))
}

// freshFormat is the format in which this version makes a store.
func freshFormat(t *testing.T, kind string) int {
	t.Helper()
	c := &copied{T: t, url: sample.URL(kind, filepath.Join(t.TempDir(), "data"))}
	s, err := sample.Start(sample.Failed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.engine().Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	format := 0
	c.withStore(func(st store.Store) error {
		who, err := st.(store.Keeper).Identity(t.Context())
		format = who.Format
		return err
	})
	return format
}

// Long's state at some event was kept, and is used.
func TestCheckpointIsThere(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(c *copied) {
		id := ids(c.T, c.engine())[sample.Long]
		c.withStore(func(st store.Store) error {
			head, err := st.Head(c.Context(), id)
			if err != nil || head.CheckpointAt == 0 {
				return fmt.Errorf("the checkpoint is at %d: %w", head.CheckpointAt, err)
			}
			kept, err := run.DecodeCheckpoint(head.Checkpoint)
			if err == nil && kept.Last != head.CheckpointAt {
				c.Errorf("the checkpoint at %d is of %d", head.CheckpointAt, kept.Last)
			}
			return err
		})
	})
}
