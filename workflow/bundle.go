package workflow

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/culm-dev/culm/internal/canon"
)

// Limits of a bundle.
const (
	MaxDefinitions = 32
	MaxBundleBytes = 512 << 10 // canonical
)

// localPublication is the publication revision of bundles pinned here: catalogs
// of files count no publications.
const localPublication = 1

// bareBundle is a Bundle without its methods, as encoding/json sees it.
type bareBundle Bundle

// Canonical is the bundle as canonical JSON; for one that was parsed, the
// canonical JSON of the bytes it was parsed from.
func (b *Bundle) Canonical() (json.RawMessage, error) {
	if b.written != nil {
		return bytes.Clone(b.written), nil
	}
	return canon.Marshal((*bareBundle)(b))
}

// Hash is the hex SHA-256 of [Bundle.Canonical].
func (b *Bundle) Hash() (string, error) {
	raw, err := b.Canonical()
	if err != nil {
		return "", err
	}
	return canon.Hash(raw), nil
}

// MarshalJSON is [Bundle.Canonical].
func (b *Bundle) MarshalJSON() ([]byte, error) { return b.Canonical() }

// ParseBundle reads a pinned bundle. It is strict: definitions must be in
// canonical form, every field known, and the root among them. The hash of the
// result is that of the bytes' canonical JSON: nothing is dropped or added. The
// error, if any, is [Errors], with places in raw.
func ParseBundle(raw []byte) (*Bundle, error) {
	r := &report{text: newText("bundle", raw, false)}
	root, _ := parseJSON(raw, r)
	if root == nil || len(r.list) > 0 {
		return nil, r.sorted()
	}
	b := (&bundleReader{report: r, raw: raw}).read(root)
	if len(r.list) > 0 {
		return nil, r.sorted()
	}
	b.written = root.canonical()
	if n := len(b.written); n > MaxBundleBytes {
		r.at(root, BundleTooLarge, "the bundle has %d bytes in canonical form", n).Expected = "at most 524288"
		return nil, r.sorted()
	}
	return b, nil
}

type bundleReader struct {
	report *report
	raw    []byte
}

func (r *bundleReader) read(root *value) *Bundle {
	d := &decoder{report: r.report, pinned: true}
	b := &Bundle{Definitions: map[string]*Definition{}, sources: map[string]*Source{}}
	if !d.is(root, objectKind) {
		return b
	}
	d.fields(root, "a bundle", required("publication_revision", "root_id", "root_revision", "definitions"), nil)
	publication, _ := d.integer(root.get("publication_revision"), InvalidBundle, 0, maxInteger)
	b.PublicationRevision = int(publication)
	b.RootID = d.name(root.get("root_id"))
	b.RootRevision = d.whole(root.get("root_revision"), 1, maxRevision)
	if list := root.get("definitions"); list != nil && d.is(list, objectKind) {
		r.definitions(list, b)
		r.checkRoot(list, b)
	}
	return b
}

func (r *bundleReader) definitions(list *value, b *Bundle) {
	if n := len(list.members); n > MaxDefinitions {
		r.report.at(list, TooManyDefinitions, "the bundle has %d definitions", n).Expected = "at most 32"
		return
	}
	for _, m := range list.members {
		d := &decoder{report: &report{text: &text{name: m.name, lines: r.report.text.lines}}, pinned: true, places: map[string]*value{}}
		src := d.source(m.name, m.value)
		if src != nil && len(d.report.list) == 0 && src.def.Ref() != m.name {
			d.report.at(m.value, InvalidBundle, "%s stands in the bundle as %s", src.def.Ref(), m.name)
		}
		r.report.list = append(r.report.list, d.report.list...)
		if src == nil {
			continue
		}
		src.def.keepWritten(m.value.canonical())
		b.Definitions[m.name], b.sources[m.name] = src.def, src
	}
}

func (r *bundleReader) checkRoot(list *value, b *Bundle) {
	root := Ref(b.RootID, b.RootRevision)
	if len(r.report.list) > 0 || b.Definitions[root] != nil {
		return
	}
	names := slices.Sorted(maps.Keys(b.Definitions))
	r.report.at(list, InvalidBundle, "the root %s is not among the definitions", root).Near = near(root, names)
}
