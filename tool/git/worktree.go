package git

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"github.com/culm-dev/culm/tool"
)

// worktree compares files with index entries. It reads the working tree through
// root only, so that no symbolic link leads out of it.
type worktree struct {
	root *os.Root
	g    *isolated
	// indexTime is when the index was written. What was modified then or later may
	// have been modified after its entry was made ("racy" in git's words).
	indexTime time.Time
	folders   map[string]bool // whether a path is a real folder, reached by real folders
}

func newWorktree(root *os.Root, g *isolated) *worktree {
	w := &worktree{root: root, g: g, folders: map[string]bool{".": true}}
	if info, err := os.Stat(filepath.Join(g.repo.gitDir, "index")); err == nil {
		w.indexTime = info.ModTime()
	}
	return w
}

// The kinds of index entries by their modes.
const (
	modeExecutable = "100755"
	modeSymlink    = "120000"
	modeSubmodule  = "160000"
)

// compare says how a file differs from its index entry, "" if it does not.
func (w *worktree) compare(e indexEntry) (string, error) {
	switch {
	case e.Stage > 0:
		return "unmerged", nil
	case e.Mode == modeSubmodule, e.flags&(flagAssumeUnchanged|flagSkipWorktree) != 0:
		return "", nil
	case !w.isFolder(path.Dir(e.Path)):
		return "deleted", nil
	}
	info, err := w.root.Lstat(filepath.FromSlash(e.Path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "deleted", nil
	case err != nil:
		return "", tool.Failed("execution_failed", false, "look at working tree: "+err.Error())
	case info.IsDir():
		return "deleted", nil
	case e.flags&flagIntentToAdd != 0:
		return "added", nil
	case !w.sameKind(e, info.Mode()):
		return "type_changed", nil
	case w.modeDiffers(e, info.Mode()):
		return "modified", nil
	case w.unchangedByStat(e, info):
		return "", nil
	case e.size != 0 && e.size != uint32(info.Size()):
		return "modified", nil
	}
	same, err := w.sameContent(e, info)
	if err != nil || same {
		return "", err
	}
	return "modified", nil
}

// isFolder reports whether a folder of the index is one on disk: what lies behind
// a symbolic link is not the file that the index means.
func (w *worktree) isFolder(dir string) bool {
	known, ok := w.folders[dir]
	if ok {
		return known
	}
	real := w.isFolder(path.Dir(dir))
	if real {
		info, err := w.root.Lstat(filepath.FromSlash(dir))
		real = err == nil && info.IsDir()
	}
	w.folders[dir] = real
	return real
}

func (w *worktree) sameKind(e indexEntry, mode fs.FileMode) bool {
	if e.Mode == modeSymlink {
		return mode&fs.ModeSymlink != 0 || mode.IsRegular() && !w.g.config.symlinks
	}
	return mode.IsRegular()
}

// modeDiffers compares the one permission that git records.
func (w *worktree) modeDiffers(e indexEntry, mode fs.FileMode) bool {
	if !w.g.config.fileMode || !mode.IsRegular() || e.Mode == modeSymlink {
		return false
	}
	return (e.Mode == modeExecutable) != (mode&0o100 != 0)
}

// unchangedByStat reports whether size and times prove that nothing changed.
func (w *worktree) unchangedByStat(e indexEntry, info fs.FileInfo) bool {
	return e.size == uint32(info.Size()) &&
		e.modified.Equal(info.ModTime()) &&
		e.changed.Equal(changeTime(info)) &&
		info.ModTime().Before(w.indexTime)
}

func (w *worktree) sameContent(e indexEntry, info fs.FileInfo) (bool, error) {
	hash, err := w.blobHash(filepath.FromSlash(e.Path), info)
	switch {
	case errors.Is(err, errMoving):
		return false, nil
	case err != nil:
		return false, tool.Failed("execution_failed", false, fmt.Sprintf("read %q: %v", e.Path, err))
	}
	return hash == e.Hash, nil
}

// errMoving says that a file was changed while it was read.
var errMoving = errors.New("the file is being changed")

// blobHash is the name that git would give to the file's bytes as they are.
func (w *worktree) blobHash(name string, info fs.FileInfo) (string, error) {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := w.root.Readlink(name)
		if err != nil {
			return "", err
		}
		h := w.newBlob(int64(len(target)))
		io.WriteString(h, target)
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	f, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !now.Mode().IsRegular() {
		return "", errMoving
	}
	h := w.newBlob(now.Size())
	n, err := io.Copy(h, io.LimitReader(f, now.Size()+1))
	if err == nil && n != now.Size() {
		err = errMoving
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

// newBlob starts the hash of a blob of that size.
func (w *worktree) newBlob(size int64) hash.Hash {
	h := sha1.New()
	if w.g.config.sha256 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}
