package file

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"unicode/utf8"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/handle"
)

// Restore implements [store.Keeper]. The stream is made, and synced, beside the
// others, and gets its name in a commit.
func (s *Store) Restore(ctx context.Context, x *store.Extract) error {
	err := errors.Join(x.Check(), ctx.Err())
	if err == nil && !utf8.ValidString(x.Stream) {
		err = fmt.Errorf("the name %q is not UTF-8", x.Stream)
	}
	if err == nil {
		err = s.restore(ctx, x, x.Last())
	}
	if err != nil {
		return fmt.Errorf("restore stream %s: %w", x.Stream, err)
	}
	return nil
}

// restore makes a stream. One whose journal is said to end later than it does is
// damaged: so Salvage marks what has lost its end.
func (s *Store) restore(ctx context.Context, x *store.Extract, last uint64) error {
	if err := s.state.Begin(); err != nil {
		return err
	}
	defer s.state.End()
	if err := s.prepare(); err != nil {
		return err
	}
	hold, err := s.waitForLog(ctx)
	if err != nil {
		return err
	}
	defer hold.Close()
	id, err := handle.NewID()
	if err != nil {
		return err
	}
	staged := restoring + id
	m := &maker{d: s.opt.disk, p: s.paths, dir: staged}
	if err := m.make(x, last, id); err != nil {
		return errors.Join(tryAgain(err), os.RemoveAll(s.paths.at(staged)))
	}
	err = s.keepHouseHolding(func(w *writer) error {
		h, _, err := s.paths.readHead(x.Stream)
		if h != nil || err != nil {
			return errors.Join(err, store.ErrExists)
		}
		if a, err := s.paths.readAccount(x.Stream); err != nil || a != nil && x.Account != nil {
			return errors.Join(err, fmt.Errorf("account %s: %w", x.Stream, store.ErrExists))
		}
		return w.writeSettled([]op{{kind: opMove, from: staged, path: streamDir(x.Stream)}})
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.paths.at(staged)))
	}
	s.watches.Signal([]string{x.Stream})
	return nil
}

// prepare makes the store, unless it is there.
func (s *Store) prepare() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.state.Poisoned(); err != nil {
		return err
	}
	_, err := s.openWriter()
	return err
}

// maker makes the folder of a stream, durably.
type maker struct {
	d   disk
	p   paths
	dir string
}

func (m *maker) make(x *store.Extract, last uint64, id string) error {
	h := &head{Stream: x.Stream, ID: id[:16], Epoch: x.Epoch, Row: newRow(&x.Row)}
	if x.Account != nil {
		h.Account = &account{Spent: x.Account.Spent, Limits: x.Account.Limits}
	}
	for _, dir := range []string{"", "/" + blobsDir, "/" + mailDir} {
		if err := m.d.mkdir(m.p.at(m.dir + dir)); err != nil {
			return err
		}
	}
	if err := m.journal(h, x.Groups); err != nil {
		return err
	}
	if err := m.mail(h, x.Mail); err != nil {
		return err
	}
	for _, b := range x.Blobs {
		if err := m.file(blobsDir+"/"+b.ID, b.Data); err != nil {
			return err
		}
	}
	if last != x.Last() {
		h.Last, h.Chain, h.End = last, ^h.Chain, h.End+1 // no commit ends so
	}
	raw, err := h.encode()
	if err != nil {
		return err
	}
	if err := m.file(headFile, raw); err != nil {
		return err
	}
	for _, dir := range []string{"/" + blobsDir, "/" + mailDir, ""} {
		if err := m.d.syncDir(m.p.at(m.dir + dir)); err != nil {
			return err
		}
	}
	return m.d.syncDir(m.p.at(path.Dir(m.dir)))
}

func (m *maker) file(name string, data []byte) error {
	return m.p.writeSynced(m.d, m.dir+"/"+name, data)
}

func (m *maker) journal(h *head, groups []store.Group) error {
	if len(groups) == 0 {
		return nil
	}
	f, err := m.d.open(m.p.at(m.dir+"/"+journalFile), os.O_CREATE)
	if err != nil {
		return err
	}
	var buf []byte
	for _, g := range groups {
		crc := chain(uint32(h.Chain), h.Stream, g.First, g.Events)
		buf = appendCommit(buf[:0], g.First, crc, g.Events)
		if _, err = f.WriteAt(buf, h.End); err != nil {
			break
		}
		h.Chain, h.End = hexSum(crc), h.End+int64(len(buf))
		h.Last = g.First + uint64(len(g.Events)) - 1
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (m *maker) mail(h *head, mail []store.Mail) error {
	var seen []byte
	for i := range mail {
		msg := &mail[i]
		raw, err := encodeMail(h.Stream, msg)
		if err != nil {
			return err
		}
		if err := m.file(fmt.Sprintf("%s/%020d.json", mailDir, msg.Number), raw); err != nil {
			return err
		}
		sum := sha256.Sum256(msg.Body)
		line, err := json.Marshal(seenLine{ID: msg.ID, Hash: hex.EncodeToString(sum[:])})
		if err != nil {
			return err
		}
		seen = append(append(seen, line...), '\n')
		h.Mail.SeenChain = seenChain(h.Mail.SeenChain, line)
		h.Mail.Last = msg.Number
	}
	h.Mail.Waiting, h.Mail.SeenEnd = uint64(len(mail)), int64(len(seen))
	if len(seen) == 0 {
		return nil
	}
	return m.file(seenFile, seen)
}
