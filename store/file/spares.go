package file

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/culm-dev/culm/store/internal/owner"
)

// spares are folders for new streams, made ahead with an empty journal and head: to
// make them in a commit was measured to cost as much as several syncs, where many files
// were deleted just before. One that is taken is renamed in a turn, and filled in the
// same turn, so that an empty head is never seen outside of one.
type spares struct {
	s *Store

	mu    sync.Mutex
	taken int // streams made so far
	ready []string
	made  int // so far, for their names
	over  bool
}

const (
	sparePrefix = stagedDir + "/spare-"
	// sparesFrom is how many streams a handle makes before spares are made for it,
	// and sparesReady how many are kept ready.
	sparesFrom  = 4
	sparesReady = 8
)

// take gives a spare folder, "" if there is none, and tells whether more are to be made.
func (p *spares) take() (dir string, refill bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken++
	if n := len(p.ready); n > 0 {
		dir = p.ready[n-1]
		p.ready = p.ready[:n-1]
	}
	return dir, p.taken >= sparesFrom && len(p.ready) <= sparesReady/2
}

// refill makes spares. What fails in that, a commit will tell.
func (p *spares) refill() {
	for range sparesReady {
		dir := p.next()
		if dir == "" || p.make(dir) != nil {
			return
		}
	}
}

// next is the name of another spare, "" if there are enough.
func (p *spares) next() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || len(p.ready) >= sparesReady {
		return ""
	}
	p.made++
	return sparePrefix + p.s.id + "-" + strconv.Itoa(p.made)
}

func (p *spares) make(dir string) error {
	d, paths := p.s.opt.disk, p.s.paths
	if err := d.mkdir(paths.at(dir)); err != nil {
		return err
	}
	for _, name := range []string{journalFile, headFile} {
		f, err := d.open(paths.at(dir+"/"+name), os.O_CREATE)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ready = append(p.ready, dir)
	return nil
}

// close deletes the spares that are left.
func (p *spares) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	for _, dir := range p.ready {
		_ = os.RemoveAll(p.s.paths.at(dir))
	}
	p.ready = nil
}

// spareOwner is whose spare a name in staged is, "" if it is none.
func spareOwner(name string) string {
	rest, ok := strings.CutPrefix(stagedDir+"/"+name, sparePrefix)
	id, _, _ := strings.Cut(rest, "-")
	if !ok || !owner.Valid(id) {
		return ""
	}
	return id
}

// sweepSpares deletes those that the dead left. What cannot be deleted does no harm.
func (s *Store) sweepSpares() {
	names, _ := readNames(s.paths.at(stagedDir))
	for _, name := range names {
		if spareOwner(name) != "" && !s.needed(name) {
			_ = os.RemoveAll(s.paths.at(stagedDir + "/" + name))
		}
	}
}

// needed tells whether what is staged under a name is a spare of a handle that lives.
func (s *Store) needed(name string) bool {
	id := spareOwner(name)
	if id == "" {
		return false
	}
	if id == s.id {
		return true
	}
	alive, _, err := s.locks.Probe(id)
	return alive || err != nil
}
