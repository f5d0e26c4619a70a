package rehearsal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/culm-dev/culm/internal/canon"
)

// Compare says where two JSON values differ, one place a line, up to some; nil if
// they are equal.
func Compare(want, got json.RawMessage) []string {
	return compared(want, got, false)
}

// Has says where a JSON value lacks what another one has: members of objects that
// only got has are no difference.
func Has(want, got json.RawMessage) []string {
	return compared(want, got, true)
}

func compared(want, got json.RawMessage, part bool) []string {
	d := differences{part: part}
	w, err := decode(want)
	if err != nil {
		return []string{fmt.Sprintf("what is wanted is not JSON: %v", err)}
	}
	g, err := decode(got)
	if err != nil {
		return []string{fmt.Sprintf("got no JSON: %v", err)}
	}
	d.values("", w, g)
	if more := len(d.found) - shownDifferences; more > 0 {
		d.found = append(d.found[:shownDifferences], fmt.Sprintf("and %d more", more))
	}
	return d.found
}

// shownDifferences bounds what is said about two values.
const shownDifferences = 8

// decode takes an absent value for null. Equal numbers become the same.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	canonical, err := canon.Canonicalize(raw)
	if err != nil {
		return nil, err
	}
	return canon.Decode(canonical)
}

type differences struct {
	part  bool
	found []string
}

func (d *differences) add(ptr, format string, args ...any) {
	if ptr == "" {
		ptr = "the value"
	}
	d.found = append(d.found, ptr+": "+fmt.Sprintf(format, args...))
}

func (d *differences) values(ptr string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			d.objects(ptr, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			d.arrays(ptr, w, g)
			return
		}
	default:
		if want == got {
			return
		}
	}
	d.add(ptr, "want %s, got %s", show(want), show(got))
}

func (d *differences) objects(ptr string, want, got map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		at := canon.AppendPointer(ptr, name)
		if g, ok := got[name]; ok {
			d.values(at, want[name], g)
		} else {
			d.add(at, "want %s, and it is not there", show(want[name]))
		}
	}
	if d.part {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			d.add(canon.AppendPointer(ptr, name), "got %s, and it is not wanted", show(got[name]))
		}
	}
}

func (d *differences) arrays(ptr string, want, got []any) {
	for i := range min(len(want), len(got)) {
		d.values(canon.AppendPointer(ptr, i), want[i], got[i])
	}
	if len(want) != len(got) {
		d.add(ptr, "want %d items, got %d", len(want), len(got))
	}
}

// show is a value as JSON, shortened.
func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 200
	if text := []rune(string(raw)); len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(raw)
}
