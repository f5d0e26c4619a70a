package file

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// replace writes a temporary file beside the target, syncs it, renames it over
// the target and syncs the folder.
func (w *writer) replace(content []byte) error {
	temp := filepath.Join(filepath.Dir(w.rel), w.tempName())
	if err := w.writeTemp(temp, content); err != nil {
		return w.failure("write", errors.Join(err, w.removeTemp(temp)))
	}
	if err := w.root.Rename(temp, w.rel); err != nil {
		return w.failure("replace", errors.Join(err, w.removeTemp(temp)))
	}
	if err := syncDir(w.root, filepath.Dir(w.rel)); err != nil {
		return fmt.Errorf("sync folder of %q: %w", w.path, err)
	}
	return nil
}

// tempName is the same for every attempt of a step, so that what a crash left
// behind goes away with the next one.
func (w *writer) tempName() string {
	if w.call.IdempotencyKey == "" {
		return ".culm-" + rand.Text() + ".tmp"
	}
	sum := sha256.Sum256([]byte(w.call.IdempotencyKey + "\x00" + w.rel))
	return ".culm-" + hex.EncodeToString(sum[:12]) + ".tmp"
}

func (w *writer) writeTemp(temp string, content []byte) error {
	if err := w.removeTemp(temp); err != nil {
		return err
	}
	f, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, w.perm)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && w.exists { // past the umask
		err = f.Chmod(w.perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (w *writer) removeTemp(temp string) error {
	if err := w.root.Remove(temp); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func syncDir(root *os.Root, rel string) error {
	dir, err := root.Open(rel)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
