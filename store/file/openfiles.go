package file

import (
	"container/list"
	"errors"
	"os"
	"path"
	"strings"
)

// maxOpen is how many files are kept open for writing: two for each run that goes on,
// for as many runs as one process may well have at once.
const maxOpen = 256

// openFiles applies operations. It keeps the files open that are written again and
// again: journals and heads. It belongs to whoever holds the turn.
type openFiles struct {
	disk  disk
	paths paths
	byRel map[string]*list.Element // of *openFile
	order list.List                // the one used last is in front
	solid map[string]bool          // folders whose names are durable
	// spare gives a folder to be renamed into one of a new stream, "" if there is none.
	spare func() string
}

type openFile struct {
	rel  string
	f    diskFile
	size int64
}

func (o *openFiles) open(d disk, p paths) {
	o.disk, o.paths = d, p
	o.byRel = make(map[string]*list.Element)
	o.solid = make(map[string]bool)
}

// apply does one operation.
func (o *openFiles) apply(p *op) error {
	switch p.kind {
	case opWrite:
		return o.write(p.path, p.data, p.at)
	case opPut:
		return o.write(p.path, p.data, 0)
	case opRemove:
		o.forget(p.path)
		if err := o.disk.remove(o.paths.at(p.path)); err != nil && !missing(err) {
			return err
		}
	case opMove:
		return o.move(p)
	}
	return nil
}

// write writes data, after which the file ends.
func (o *openFiles) write(rel string, data []byte, at int64) error {
	f, err := o.get(rel)
	if err != nil {
		return err
	}
	_, err = f.f.WriteAt(data, at)
	end := at + int64(len(data))
	if err == nil && f.size > end {
		err = f.f.Truncate(end)
	}
	f.size = end
	if err != nil {
		o.forget(rel)
		return errors.Join(err, o.release(f))
	}
	return o.release(f)
}

// keeps tells whether a file is kept open.
func keeps(rel string) bool {
	name := path.Base(rel)
	return name == journalFile || name == headFile
}

// get opens a file, made if it is missing, with its folders.
func (o *openFiles) get(rel string) (*openFile, error) {
	if e := o.byRel[rel]; e != nil {
		o.order.MoveToFront(e)
		return e.Value.(*openFile), nil
	}
	f, err := o.disk.open(o.paths.at(rel), os.O_CREATE)
	if missing(err) {
		if err := o.mkdirs(path.Dir(rel)); err != nil {
			return nil, err
		}
		f, err = o.disk.open(o.paths.at(rel), os.O_CREATE)
	}
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	opened := &openFile{rel: rel, f: f, size: size}
	if keeps(rel) {
		o.byRel[rel] = o.order.PushFront(opened)
		if o.order.Len() > maxOpen {
			o.forget(o.order.Back().Value.(*openFile).rel)
		}
	}
	return opened, nil
}

// release closes a file that is not kept.
func (o *openFiles) release(f *openFile) error {
	if keeps(f.rel) {
		return nil
	}
	return f.f.Close()
}

// mkdirs makes folders; they become durable with the log's next beginning.
func (o *openFiles) mkdirs(rel string) error {
	if path.Dir(rel) == runsDir && o.spare != nil {
		if from := o.spare(); from != "" && o.disk.rename(o.paths.at(from), o.paths.at(rel)) == nil {
			return nil
		}
	}
	err := o.disk.mkdir(o.paths.at(rel))
	if missing(err) && rel != "." {
		if err := o.mkdirs(path.Dir(rel)); err != nil {
			return err
		}
		err = o.disk.mkdir(o.paths.at(rel))
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// move gives a staged file or folder its name. If there is none it was moved before.
// Its name must not become durable in a folder that does not: both would be lost.
func (o *openFiles) move(p *op) error {
	o.forgetUnder(p.path)
	o.forgetUnder(p.from)
	if _, err := os.Lstat(o.paths.at(p.from)); missing(err) {
		return nil
	}
	if err := o.solidify(path.Dir(p.path)); err != nil {
		return err
	}
	return o.disk.rename(o.paths.at(p.from), o.paths.at(p.path))
}

// solidify makes a folder, unless it is there, and its name durable.
func (o *openFiles) solidify(rel string) error {
	if rel == "." || o.solid[rel] {
		return nil
	}
	above := path.Dir(rel)
	if err := o.solidify(above); err != nil {
		return err
	}
	if err := o.disk.mkdir(o.paths.at(rel)); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := o.disk.syncDir(o.paths.at(above)); err != nil {
		return unclearError{err}
	}
	if len(o.solid) > 8*maxOpen {
		clear(o.solid)
	}
	o.solid[rel] = true
	return nil
}

// forget closes a file that is open. What fails in that has been written, or will be
// from the log.
func (o *openFiles) forget(rel string) {
	e := o.byRel[rel]
	if e == nil {
		return
	}
	delete(o.byRel, rel)
	o.order.Remove(e)
	_ = e.Value.(*openFile).f.Close()
}

// forgetUnder closes what is open in a folder, and the file of that name.
func (o *openFiles) forgetUnder(dir string) {
	for rel := range o.byRel {
		if under(rel, dir) {
			o.forget(rel)
		}
	}
	for rel := range o.solid {
		if under(rel, dir) {
			delete(o.solid, rel)
		}
	}
}

func under(rel, dir string) bool { return rel == dir || strings.HasPrefix(rel, dir+"/") }

func (o *openFiles) forgetAll() {
	for rel := range o.byRel {
		o.forget(rel)
	}
	clear(o.solid)
}

func (o *openFiles) close() error {
	var errs []error
	for _, e := range o.byRel {
		errs = append(errs, e.Value.(*openFile).f.Close())
	}
	clear(o.byRel)
	o.order.Init()
	return errors.Join(errs...)
}
