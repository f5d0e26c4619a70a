package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Catalog is where nested workflows are looked up when a run is pinned.
type Catalog interface {
	// Snapshot reads the catalog once. Everything that one pin needs comes from
	// one snapshot, so that it never mixes two states of the catalog.
	Snapshot() (*Snapshot, error)
}

// Snapshot is what a catalog held at one moment.
type Snapshot struct {
	sources []*Source // by id, then revision
	// Unreadable are files of the catalog that hold no definition that could be
	// identified, with the reason.
	Unreadable []error
}

// NewSnapshot makes a snapshot of sources. Those whose id or revision could not
// be read are left out.
func NewSnapshot(sources ...*Source) *Snapshot {
	s := &Snapshot{}
	for _, src := range sources {
		if src.def.ID != "" && src.def.Revision > 0 {
			s.sources = append(s.sources, src)
		}
	}
	slices.SortStableFunc(s.sources, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(a.def.ID, b.def.ID), cmp.Compare(a.def.Revision, b.def.Revision))
	})
	return s
}

// Snapshot makes a fixed snapshot a catalog that never changes.
func (s *Snapshot) Snapshot() (*Snapshot, error) { return s, nil }

// Sources are all definitions, by id and then revision.
func (s *Snapshot) Sources() []*Source { return slices.Clone(s.sources) }

// IDs are the ids of all workflows, sorted.
func (s *Snapshot) IDs() []string {
	ids := make([]string, len(s.sources))
	for i, src := range s.sources {
		ids[i] = src.def.ID
	}
	return slices.Compact(ids)
}

// Revisions are the revisions that there are of a workflow, ascending.
func (s *Snapshot) Revisions(id string) []int {
	var revisions []int
	for _, src := range s.sources {
		if src.def.ID == id {
			revisions = append(revisions, src.def.Revision)
		}
	}
	return slices.Compact(revisions)
}

// Find looks a definition up. The error is a [*LookupError]: with
// [UnknownWorkflow], [RevisionMismatch], or [DefinitionConflict] when there are
// several with different content.
func (s *Snapshot) Find(id string, revision int) (*Source, error) {
	found := s.all(id, revision)
	if len(found) == 0 {
		return nil, s.missing(id, revision)
	}
	for _, other := range found[1:] {
		if !sameContent(found[0], other) {
			return nil, &LookupError{
				Code: DefinitionConflict, Ref: Ref(id, revision), Files: []string{found[0].name, other.name},
			}
		}
	}
	return found[0], nil
}

// Highest is the highest revision of a workflow; errors as of [Snapshot.Find].
func (s *Snapshot) Highest(id string) (*Source, error) {
	revisions := s.Revisions(id)
	if len(revisions) == 0 {
		return nil, s.missing(id, 0)
	}
	return s.Find(id, slices.Max(revisions))
}

// Only is the highest revision of the only workflow that there is. If there is
// none, or more than one, the error is a [*NotOneError].
func (s *Snapshot) Only() (*Source, error) {
	ids := s.IDs()
	if len(ids) != 1 {
		return nil, &NotOneError{IDs: ids, Unreadable: s.Unreadable}
	}
	return s.Highest(ids[0])
}

// Conflicts are the definitions of the same id and revision as src that have
// other content: worth a note when src is run from a file.
func (s *Snapshot) Conflicts(src *Source) []*Source {
	return slices.DeleteFunc(s.all(src.def.ID, src.def.Revision), func(other *Source) bool {
		return sameContent(src, other)
	})
}

func (s *Snapshot) all(id string, revision int) []*Source {
	var found []*Source
	for _, src := range s.sources {
		if src.def.ID == id && src.def.Revision == revision {
			found = append(found, src)
		}
	}
	return found
}

func (s *Snapshot) missing(id string, revision int) error {
	err := &LookupError{Code: UnknownWorkflow, Ref: id, Unreadable: s.Unreadable}
	if revision > 0 {
		err.Ref = Ref(id, revision)
	}
	if err.Revisions = s.Revisions(id); len(err.Revisions) > 0 {
		err.Code = RevisionMismatch
		return err
	}
	err.Near = near(id, s.IDs())
	return err
}

// sameContent compares canonical forms. Definitions with errors have none, and
// are compared as written.
func sameContent(a, b *Source) bool {
	if a.report.clean() != b.report.clean() {
		return false
	}
	if !a.report.clean() {
		return slices.Equal(a.report.text.lines, b.report.text.lines)
	}
	x, errX := a.def.Hash()
	y, errY := b.def.Hash()
	return errX == nil && errY == nil && x == y
}

// LookupError is a definition that a catalog does not have.
type LookupError struct {
	Code       Code // UnknownWorkflow, RevisionMismatch or DefinitionConflict
	Ref        string
	Near       string   // an id that was probably meant
	Revisions  []int    // that there are, for RevisionMismatch
	Files      []string // that differ, for DefinitionConflict
	Unreadable []error  // files that may hold it
}

func (e *LookupError) Error() string {
	switch e.Code {
	case DefinitionConflict:
		return fmt.Sprintf("%s differs between %s", e.Ref, strings.Join(e.Files, " and "))
	case RevisionMismatch:
		return fmt.Sprintf("there is no %s, only revision %s", e.Ref, joinInts(e.Revisions))
	}
	msg := fmt.Sprintf("there is no workflow %s", e.Ref)
	if e.Near != "" {
		msg += fmt.Sprintf("; did you mean %q?", e.Near)
	}
	return msg
}

// NotOneError is a folder that does not hold exactly one workflow.
type NotOneError struct {
	IDs        []string
	Unreadable []error
}

func (e *NotOneError) Error() string {
	if len(e.IDs) == 0 {
		return errors.Join(append([]error{errors.New("there is no workflow here")}, e.Unreadable...)...).Error()
	}
	return "there is more than one workflow here: " + strings.Join(e.IDs, ", ")
}

func joinInts(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}
