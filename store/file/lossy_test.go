package file

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Recorder is a disk that works and remembers all that was done to it, so that it can
// tell what a power loss at any moment would have left.
type Recorder struct {
	root  string
	mu    sync.Mutex
	ops   []recorded
	files map[string]int // by path; the numbers stand for inodes
	count int
	fails string // what fails
}

// Fail makes a kind of doing fail from now on.
func (r *Recorder) Fail(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fails = what
}

// recorded is one thing that was done.
type recorded struct {
	what     string // create, write, truncate, sync, mkdir, rename, remove, syncdir, syncall
	path, to string
	file     int
	at       int64
	data     []byte
}

// NewRecorder makes a recorder of the store in a folder, and the options to use it.
func NewRecorder(root string, trim int64) (*Recorder, Options) {
	r := &Recorder{root: root, files: make(map[string]int)}
	return r, Options{disk: r, trim: trim}
}

// Done is how much was done so far.
func (r *Recorder) Done() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// note remembers what f did, if it did.
func (r *Recorder) note(op recorded, f func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op.what == r.fails {
		return &os.PathError{Op: op.what, Path: op.path, Err: syscall.EIO}
	}
	if err := f(); err != nil {
		return err
	}
	r.ops = append(r.ops, op)
	return nil
}

func (r *Recorder) rel(path string) string {
	rel, err := filepath.Rel(r.root, path)
	if err != nil {
		panic(err)
	}
	return rel
}

func (r *Recorder) open(path string, flag int) (diskFile, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rel := r.rel(path)
	_, serr := os.Lstat(path)
	f, err := osDisk{}.open(path, flag)
	if err != nil {
		return nil, err
	}
	if errors.Is(serr, os.ErrNotExist) {
		r.count++
		r.files[rel] = r.count
		r.ops = append(r.ops, recorded{what: "create", path: rel, file: r.count})
	} else if flag&os.O_TRUNC != 0 {
		r.ops = append(r.ops, recorded{what: "truncate", file: r.files[rel]})
	}
	return &recordedFile{diskFile: f, r: r, file: r.files[rel]}, nil
}

func (r *Recorder) mkdir(path string) error {
	return r.note(recorded{what: "mkdir", path: r.rel(path)}, func() error { return osDisk{}.mkdir(path) })
}

func (r *Recorder) rename(from, to string) error {
	return r.note(recorded{what: "rename", path: r.rel(from), to: r.rel(to)}, func() error {
		err := osDisk{}.rename(from, to)
		for path, id := range r.files {
			if err == nil && under(path, r.rel(from)) {
				delete(r.files, path)
				r.files[r.rel(to)+path[len(r.rel(from)):]] = id
			}
		}
		return err
	})
}

func (r *Recorder) remove(path string) error {
	return r.note(recorded{what: "remove", path: r.rel(path)}, func() error {
		err := osDisk{}.remove(path)
		if err == nil {
			delete(r.files, r.rel(path))
		}
		return err
	})
}

func (r *Recorder) syncDir(path string) error {
	return r.note(recorded{what: "syncdir", path: r.rel(path)}, func() error { return osDisk{}.syncDir(path) })
}

func (r *Recorder) syncAll(path string) error {
	return r.note(recorded{what: "syncall"}, func() error { return osDisk{}.syncAll(path) })
}

type recordedFile struct {
	diskFile
	r    *Recorder
	file int
}

func (f *recordedFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.r.note(recorded{what: "write", file: f.file, at: off, data: bytes.Clone(p)}, func() error {
		n, err = f.diskFile.WriteAt(p, off)
		return err
	})
	return n, err
}

func (f *recordedFile) Truncate(size int64) error {
	return f.r.note(recorded{what: "truncate", file: f.file, at: size}, func() error { return f.diskFile.Truncate(size) })
}

func (f *recordedFile) Sync() error {
	return f.r.note(recorded{what: "sync", file: f.file}, f.diskFile.Sync)
}

// image is what a disk holds for certain, and what it may hold.
type image struct {
	rng    *rand.Rand
	files  map[int]*inode
	names  map[string]int // what is durable: number of a file, 0 for a folder
	hidden []recorded     // names that are not
}

type inode struct {
	durable []byte
	pending []recorded
}

// Leave writes to a folder what a power loss after the first n things would leave:
// all that was synced, and of the rest what chance decides, by sectors.
func (r *Recorder) Leave(n int, seed uint64, to string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &image{rng: rand.New(rand.NewPCG(seed, uint64(n))), files: make(map[int]*inode), names: make(map[string]int)}
	for _, op := range r.ops[:n] {
		m.do(op)
	}
	m.crash()
	return m.write(to)
}

func (m *image) do(op recorded) {
	switch op.what {
	case "create":
		m.files[op.file] = &inode{}
		m.hidden = append(m.hidden, op)
	case "mkdir", "rename", "remove":
		m.hidden = append(m.hidden, op)
	case "syncall":
		for id := range m.files {
			m.do(recorded{what: "sync", file: id})
		}
		m.settle(func(string) int { return len(m.hidden) })
	case "write", "truncate":
		m.files[op.file].pending = append(m.files[op.file].pending, op)
	case "sync":
		f := m.files[op.file]
		for _, p := range f.pending {
			f.durable = p.apply(f.durable)
		}
		f.pending = nil
	case "syncdir":
		m.settle(func(dir string) int {
			if dir == op.path {
				return len(m.hidden)
			}
			return 0
		})
	}
}

// apply does a write or a truncation to some content.
func (op recorded) apply(content []byte) []byte {
	end := op.at + int64(len(op.data))
	if op.what == "truncate" {
		end = op.at
		content = content[:min(int64(len(content)), end)]
	}
	for int64(len(content)) < end {
		content = append(content, 0)
	}
	copy(content[op.at:], op.data)
	return content
}

// dir is the folder whose sync makes a name durable.
func (op recorded) dir() string {
	if op.what == "rename" {
		return filepath.Dir(op.to)
	}
	return filepath.Dir(op.path)
}

// settle makes the first names of each folder durable, as many as are given.
func (m *image) settle(many func(dir string) int) {
	left := make(map[string]int)
	var rest []recorded
	for _, op := range m.hidden {
		dir := op.dir()
		n, known := left[dir]
		if !known {
			n = many(dir)
		}
		left[dir] = n - 1
		if n <= 0 {
			rest = append(rest, op)
			continue
		}
		m.name(op)
	}
	m.hidden = rest
}

func (m *image) name(op recorded) {
	switch op.what {
	case "create":
		m.names[op.path] = op.file
	case "mkdir":
		m.names[op.path] = 0
	case "rename":
		if _, ok := m.names[op.path]; ok {
			m.rename(op.path, op.to)
		} else { // its first name is not durable, and never will be
			for i, h := range m.hidden {
				if h.what == "create" && h.path == op.path {
					m.names[op.to] = h.file
					m.hidden[i].path = op.to
				}
			}
		}
	case "remove":
		delete(m.names, op.path)
	}
}

// rename moves a file, or a folder with all that is in it.
func (m *image) rename(from, to string) {
	for path, id := range m.names {
		if under(path, from) {
			delete(m.names, path)
			m.names[to+path[len(from):]] = id
		}
	}
	for i, h := range m.hidden {
		if h.what != "rename" && under(h.path, from) && h.path != from {
			m.hidden[i].path = to + h.path[len(from):]
		}
	}
}

// crash decides what of the rest there is.
func (m *image) crash() {
	m.settle(func(string) int { return m.rng.IntN(len(m.hidden) + 1) })
	const sector = 512
	for _, f := range m.files {
		for _, op := range f.pending {
			if op.what == "truncate" {
				if m.rng.IntN(2) == 0 {
					f.durable = op.apply(f.durable)
				}
				continue
			}
			for at := int64(0); at < int64(len(op.data)); {
				next := min((op.at+at)/sector*sector+sector-op.at, int64(len(op.data)))
				if m.rng.IntN(3) > 0 {
					part := recorded{what: "write", at: op.at + at, data: op.data[at:next]}
					f.durable = part.apply(f.durable)
				}
				at = next
			}
		}
	}
}

func (m *image) write(to string) error {
	for path, id := range m.names {
		full := filepath.Join(to, path)
		if !m.reachable(path) {
			continue
		}
		if id == 0 {
			if err := os.MkdirAll(full, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(full, m.files[id].durable, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// reachable tells whether all folders above a name are there.
func (m *image) reachable(path string) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if id, ok := m.names[dir]; !ok || id != 0 {
			return false
		}
	}
	return true
}
