package workflow

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// Source is one definition as it was read, with the places of everything in it
// and what was wrong with its form.
type Source struct {
	name   string
	def    *Definition
	root   *value
	places map[string]*value // of the plan, by canonical pointer
	report *report
	lost   lost
}

// Name is what the document was loaded under: for a file its path.
func (s *Source) Name() string { return s.name }

// Definition is the definition; it must not be changed. After an error in
// loading it is incomplete.
func (s *Source) Definition() *Definition { return s.def }

// Errors are the errors that loading found; nil if there were none.
func (s *Source) Errors() Errors {
	if s.report.clean() {
		return nil
	}
	return s.report.sorted()
}

// Load reads one definition, YAML 1.2 or JSON by its content. The name is for
// messages; one that ends in .json is JSON and nothing else.
//
// The error, if any, is [Errors]. The source is nil only if the document could
// not be read as an object at all; otherwise it may be given to [Compile], which
// reports the rest of what is wrong together with the errors of loading.
//
// YAML is read by its JSON subset: duplicate keys, keys that are not strings,
// anchors, aliases, merge keys, tags of one's own and further documents are
// errors; unquoted yes, no, on, off, dates and octal or hexadecimal integers are
// strings; integers keep their digits.
func Load(name string, data []byte) (*Source, error) {
	root, r := parse(name, data)
	if root == nil {
		return nil, r.sorted()
	}
	return load(name, root, r)
}

// load makes a source of the tree of a document.
func load(name string, root *value, r *report) (*Source, error) {
	d := &decoder{report: r, places: map[string]*value{}}
	src := d.source(name, root)
	if src == nil {
		return nil, r.sorted()
	}
	if !r.clean() {
		return src, r.sorted()
	}
	written, err := canonicalSource(root, src.def.Plan)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	src.def.keepWritten(written)
	return src, nil
}

// source decodes the tree of a document; nil if it is no definition at all.
func (d *decoder) source(name string, root *value) *Source {
	def := d.definition(root)
	if def == nil {
		return nil
	}
	return &Source{name: name, def: def, root: root, places: d.places, report: d.report, lost: d.lost}
}

// LoadFile reads a definition from a file; see [Load]. An error in opening or
// reading the file is wrapped and is not [Errors].
func LoadFile(path string) (*Source, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("read workflow: %w", err)
	}
	return Load(path, data)
}

// readFile reads a file, but no more of it than one byte too much.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDocumentBytes+1))
}

// FromDefinition makes a source of a definition that a program put together, or
// changed. The definition is copied; errors name places in its canonical form,
// with its id and revision for a file.
func FromDefinition(def *Definition) (*Source, error) {
	raw, err := canon.Marshal((*bare)(def))
	if err != nil {
		return nil, fmt.Errorf("encode definition %s: %w", def.Ref(), err)
	}
	if def.written != nil {
		// Unchanged since it was read, it keeps the form that it was read in.
		read, err := Load(def.Ref(), def.written)
		if err == nil && bytes.Equal(raw, fieldsOnly(read.def)) {
			return read, nil
		}
	}
	return Load(def.Ref(), raw)
}

// fieldsOnly is what the fields of a definition alone say, in canonical form.
func fieldsOnly(d *Definition) []byte {
	raw, err := canon.Marshal((*bare)(d))
	if err != nil {
		return nil
	}
	return raw
}

// place is where something stands in the document, by its canonical pointer: its
// value there, or the nearest one around it.
func (s *Source) place(pointer string) *value {
	for prefix := pointer; prefix != ""; prefix = prefix[:strings.LastIndexByte(prefix, '/')] {
		if v := s.places[prefix]; v != nil {
			return v.find(pointer[len(prefix):])
		}
	}
	return s.root.find(pointer)
}
