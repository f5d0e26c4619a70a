package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/culm-dev/culm/store"
)

// format is the version of the layout and of what stands in the files. A store with
// a greater one is refused. oldest is the oldest that is read.
const (
	format = 1
	oldest = 1
)

var errFormatDamaged = errors.New("the store is damaged: " + formatFile + " does not verify")

// unknownGeneration stands for one that cannot be read any more.
const unknownGeneration = "unknown"

// identity is the content of format.json.
type identity struct {
	Format     int64  `json:"culm_file_store"`
	Generation string `json:"generation"`
	Copied     string `json:"copied,omitempty"`
	CopiedAt   string `json:"copied_at,omitempty"`
}

// readFormat reads what the folder is; nil if there is no store.
func (p paths) readFormat() (*identity, error) {
	raw, err := os.ReadFile(p.at(formatFile))
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read format: %w", err)
	}
	// A newer format may have other members, and another checksum.
	var version struct {
		Format int64 `json:"culm_file_store"`
	}
	if json.NewDecoder(bytes.NewReader(raw)).Decode(&version) == nil && version.Format > format {
		return nil, fmt.Errorf("the store has format %d, this version reads up to %d: %w", version.Format, format, store.ErrNewerFormat)
	}
	var id identity
	if err := decodeSealed(raw, &id); err != nil {
		return nil, fmt.Errorf("%w: %w", errFormatDamaged, err)
	}
	if id.Format < oldest || id.Generation == "" {
		return nil, fmt.Errorf("%w: it says nothing that this version knows", errFormatDamaged)
	}
	return &id, nil
}

// create makes an empty store. Its format is written last: a folder without one is
// no store yet. The caller has the turn.
func (p paths) create(d disk, id identity) error {
	for _, dir := range []string{runsDir, keysDir, accountsDir, stagedDir, logDir} {
		if err := d.mkdir(p.at(dir)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := p.createLog(d); err != nil {
		return err
	}
	raw, err := encodeSealed(id)
	if err != nil {
		return err
	}
	if err := p.writeSynced(d, formatFile+".new", raw); err != nil {
		return err
	}
	if err := d.rename(p.at(formatFile+".new"), p.at(formatFile)); err != nil {
		return err
	}
	return d.syncDir(p.dir)
}

func (p paths) createLog(d disk) error {
	f, err := d.open(p.at(redoFile), os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	l := redo{f: f, size: logStart}
	_, err = f.WriteAt(make([]byte, logStart), 0)
	if err == nil {
		err = l.begin()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	m := mark{position: l.end}
	if err := p.writeSynced(d, appliedFile, m.encode()); err != nil {
		return err
	}
	return d.syncDir(p.at(logDir))
}

// writeSynced writes a whole file and syncs it; its name is not synced.
func (p paths) writeSynced(d disk, rel string, data []byte) error {
	f, err := d.open(p.at(rel), os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
