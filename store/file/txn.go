package file

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/internal/handle"
)

// txn is one group under way: what its members come to, and nothing on disk yet.
type txn struct {
	w       *writer
	streams []*change
	ledger  []*ledgerEntry

	// Of the member under way; merged if it succeeds.
	mine       []*change
	mineLedger []*ledgerEntry
}

// change is what the group does to one stream.
type change struct {
	name string
	head *head // as the group leaves it; a copy that is the group's
	was  *head // as it found it, nil for a stream that it makes

	journal   []byte // lines to be appended
	seenLines []byte // to be appended to seen.jsonl
	seen      map[string]string
	posted    []posted
	taken     []uint64
	blobs     []*store.NewBlob
	state     []byte // the checkpoint, if there is a new one
	chainAt   hexSum // of the journal at the checkpoint
	lastAt    uint64
	signal    bool // the journal or the mailbox changed
	// dropAccount: the account of the stream's name moves from its file to the head.
	dropAccount bool
}

// posted is a message to be written.
type posted struct {
	number uint64
	raw    []byte
}

// ledgerEntry is an account that belongs to no stream, or a key.
type ledgerEntry struct {
	path    string
	account *store.Account
	key     *store.KeyRecord
}

func newTxn(w *writer) *txn { return &txn{w: w} }

// member applies one request to what the members before it came to.
func (t *txn) member(r *request) error {
	t.mine, t.mineLedger = t.mine[:0], t.mineLedger[:0]
	if err := t.apply(r); err != nil {
		return err
	}
	for _, c := range t.mine {
		if i := slices.IndexFunc(t.streams, func(s *change) bool { return s.name == c.name }); i >= 0 {
			t.streams[i] = c
		} else {
			t.streams = append(t.streams, c)
		}
	}
	for _, e := range t.mineLedger {
		if i := slices.IndexFunc(t.ledger, func(l *ledgerEntry) bool { return l.path == e.path }); i >= 0 {
			t.ledger[i] = e
		} else {
			t.ledger = append(t.ledger, e)
		}
	}
	return nil
}

// stream is what is known of a stream so far, nil if there is none. It must not be
// changed; see edit.
func (t *txn) stream(name string) (*change, error) {
	for _, list := range [2][]*change{t.mine, t.streams} {
		for _, c := range list {
			if c.name == name {
				return c, nil
			}
		}
	}
	if o := t.w.owned[name]; o != nil {
		return &change{name: name, head: o.head, was: o.head, seen: o.seen}, nil
	}
	h, _, err := t.w.s.paths.readHead(name)
	if h == nil || err != nil {
		return nil, err
	}
	if err := t.w.s.paths.checkTail(h); err != nil {
		return nil, err
	}
	return &change{name: name, head: h, was: h}, nil
}

// edit gives the member's own copy of a stream to change, with its head.
func (t *txn) edit(c *change) *change {
	if slices.Contains(t.mine, c) {
		return c
	}
	mine := *c
	h := *c.head
	mine.head = &h
	// Lists are appended to, and one that fails must not leave its part in them.
	mine.journal = slices.Clip(c.journal)
	mine.seenLines = slices.Clip(c.seenLines)
	mine.posted = slices.Clip(c.posted)
	mine.taken = slices.Clip(c.taken)
	mine.blobs = slices.Clip(c.blobs)
	t.mine = append(t.mine, &mine)
	return &mine
}

// create gives the member a new stream to fill.
func (t *txn) create(name string) (*change, error) {
	id, err := handle.NewID()
	if err != nil {
		return nil, err
	}
	c := &change{name: name, head: &head{Stream: name, ID: id[:16]}}
	t.mine = append(t.mine, c)
	return c, nil
}

// touched are the streams whose journal or mailbox changed.
func (t *txn) touched() []string {
	var names []string
	for _, c := range t.streams {
		if c.signal {
			names = append(names, c.name)
		}
	}
	return names
}

// keep remembers the heads of owned streams as committed.
func (t *txn) keep() {
	for _, c := range t.streams {
		if c.head.Owner == t.w.s.id {
			t.w.owned[c.name] = &owned{head: c.head, seen: c.seen}
		} else {
			delete(t.w.owned, c.name)
		}
	}
}

// ops are the operations that the group comes to. Values that are large are written
// and synced here, and their operation only names them.
func (t *txn) ops() ([]op, error) {
	var ops []op
	for _, c := range t.streams {
		var err error
		if ops, err = c.ops(t.w, ops); err != nil {
			return nil, fmt.Errorf("write stream %s: %w", c.name, err)
		}
	}
	for _, e := range t.ledger {
		raw, err := e.encode()
		if err != nil {
			return nil, err
		}
		ops = append(ops, op{kind: opPut, path: e.path, data: raw})
	}
	return ops, nil
}

func (c *change) ops(w *writer, ops []op) ([]op, error) {
	for _, b := range c.blobs {
		o, err := w.value(blobPath(c.name, b.ID), b.Data)
		if err != nil {
			return nil, err
		}
		ops = append(ops, o)
	}
	if len(c.journal) > 0 {
		ops = append(ops, op{kind: opWrite, path: inStream(c.name, journalFile), data: c.journal, at: c.head.End - int64(len(c.journal))})
	}
	if len(c.seenLines) > 0 {
		ops = append(ops, op{kind: opWrite, path: inStream(c.name, seenFile), data: c.seenLines, at: c.head.Mail.SeenEnd - int64(len(c.seenLines))})
	}
	for _, m := range c.posted {
		if !slices.Contains(c.taken, m.number) {
			ops = append(ops, op{kind: opPut, path: mailPath(c.name, m.number), data: m.raw})
		}
	}
	for _, n := range c.taken {
		ops = append(ops, op{kind: opRemove, path: mailPath(c.name, n)})
	}
	if c.state != nil {
		raw, err := encodeSnapshot(&head{Stream: c.name, Last: c.lastAt, Chain: c.chainAt}, c.state)
		if err != nil {
			return nil, err
		}
		o, err := w.value(inStream(c.name, snapshotFile), raw)
		if err != nil {
			return nil, err
		}
		ops = append(ops, o)
	}
	if c.dropAccount {
		ops = append(ops, op{kind: opRemove, path: accountPath(c.name)})
	}
	raw, err := c.head.encode()
	if err != nil {
		return nil, err
	}
	return append(ops, op{kind: opPut, path: inStream(c.name, headFile), data: raw}), nil
}

// valueInLog is how large a value may be that the log holds.
const valueInLog = 64 << 10

// value is the operation that writes a whole file. Its folder, if the value is
// large, is that of staged ones.
func (w *writer) value(rel string, data []byte) (op, error) {
	if len(data) <= valueInLog {
		return op{kind: opPut, path: rel, data: data}, nil
	}
	id, err := handle.NewID()
	if err != nil {
		return op{}, err
	}
	if err := w.room(len(data)); err != nil {
		return op{}, err
	}
	from := stagedDir + "/" + id
	if err := w.s.paths.writeSynced(w.s.opt.disk, from, data); err != nil {
		_ = w.s.opt.disk.remove(w.s.paths.at(from))
		return op{}, err
	}
	return op{kind: opMove, path: rel, from: from}, w.s.opt.disk.syncDir(w.s.paths.at(stagedDir))
}

// checkpointSum is the checksum by which a head names a checkpoint.
func checkpointSum(state []byte) hexSum { return hexSum(crc32.Checksum(state, castagnoli())) }
