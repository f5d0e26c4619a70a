package sqlite

import (
	"context"
	"database/sql/driver"
	"os"
	"time"
)

// wal keeps the write-ahead log short.
//
// Copying it into the database ("checkpoint") runs beside the commits, on a
// connection of its own: first most of it while others commit, then, holding
// the turn, the small rest. Only when all of it is copied does SQLite start to
// overwrite the log from its beginning, and a log that is overwritten syncs
// faster than one that grows.
type wal struct {
	w    *writer
	conn *conn
	wake chan struct{}     // capacity 1
	now  chan chan<- error // asks for a copy at once; the answer is its result
	stop chan struct{}
	done chan struct{}

	// written estimates the bytes written since the last wake-up.
	written int

	room  int64 // estimate of what can be written before look is due
	looks int
	short bool  // the last look found the log near to growing
	size  int64 // of the log's file, when it was last made longer
}

const (
	walWakeBytes     = 2 << 20
	walHeader        = 32
	walFrame         = 4096 + 24
	walChunk         = 256 << 10 // by so much the log is made longer at a time
	walPrepared      = 5 << 20   // up to this length
	walFrames        = 1000      // of 4 KiB; longer logs are checkpointed
	walTruncateBytes = 64 << 20  // a log that grew past this, because a reader held it, is cut
	// walPatience is how long cutting the log, which holds the turn, may wait
	// for readers.
	walPatience = 100 * time.Millisecond
)

func (w *writer) openWAL() (*wal, error) {
	c, err := w.dial(walPatience)
	if err != nil {
		return nil, err
	}
	l := &wal{w: w, conn: c, wake: make(chan struct{}, 1), now: make(chan chan<- error), stop: make(chan struct{}), done: make(chan struct{})}
	go l.loop()
	return l, nil
}

// look finds out, now and then, how far the log is from growing. A sync that
// follows a write past the end of a file must write the file's new length as
// well, which nearly doubles what a small commit costs; zeros written ahead spare
// all but one in thirty commits that.
//
// It asks SQLite and not the file system: a stat of the log before each commit
// was measured to cost a lone committer a sixth of its rate.
func (l *wal) look(c *conn) {
	if l.room > 0 {
		return
	}
	l.room = walChunk
	if l.looks++; l.looks <= 2 { // a process that commits once or twice has no use for it
		l.room = 1
		return
	}
	frames, _, err := checkpoint(c, `PRAGMA wal_checkpoint(NOOP)`)
	if err != nil || frames == 0 {
		return
	}
	at := walHeader + frames*walFrame
	l.short = l.size-at < walChunk/4 && l.size < walPrepared
	if !l.short {
		l.room = max(l.size-at-walChunk/4, walChunk)
	}
}

// makeRoom makes the log longer if look found it short. To SQLite zeros after the
// last frame are what it finds in any log that it has begun to write anew: not a
// frame. The caller is in a write transaction, so nobody else changes the log.
// Failing is no error: the commit will tell what is wrong with the disk.
func (l *wal) makeRoom() {
	if !l.short {
		return
	}
	l.short = false
	f, err := os.OpenFile(l.w.s.paths.db+"-wal", os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return
	}
	n, _ := f.WriteAt(make([]byte, walChunk), info.Size())
	l.size = info.Size() + int64(n)
}

// wrote counts what a group wrote and wakes the checkpointer when it is much.
func (l *wal) wrote(bytes int) {
	l.written += bytes
	l.room -= int64(bytes)
	if l.written < walWakeBytes {
		return
	}
	l.written = 0
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *wal) loop() {
	defer close(l.done)
	for {
		select {
		case <-l.stop:
			return
		case answer := <-l.now:
			_, _, err := checkpoint(l.conn, `PRAGMA wal_checkpoint(PASSIVE)`)
			answer <- err
		case <-l.wake:
			// A checkpoint that fails has cost nobody anything: the log stays
			// longer, and a disk that fails will show in a commit.
			_ = l.shorten()
		}
	}
}

// shorten checkpoints a log that is long.
func (l *wal) shorten() error {
	frames, _, err := checkpoint(l.conn, `PRAGMA wal_checkpoint(NOOP)`)
	if err != nil || frames < walFrames {
		return err
	}
	if _, _, err := checkpoint(l.conn, `PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
		return err
	}
	select {
	case <-l.stop:
		return nil
	default:
	}
	s := l.w.s
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := l.w.turnstile.Enter(s.opt.BusyTimeout); err != nil {
		return err
	}
	defer func() { _ = l.w.turnstile.Leave() }()
	frames, copied, err := checkpoint(l.conn, `PRAGMA wal_checkpoint(PASSIVE)`)
	if err != nil || frames > copied || frames*walFrame < walTruncateBytes {
		return err
	}
	_, _, err = checkpoint(l.conn, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// checkpoint runs one of SQLite's and returns the frames in the log and those
// copied.
func checkpoint(c *conn, pragma string) (frames, copied int64, err error) {
	err = c.query(context.Background(), pragma, nil, func(v []driver.Value) error {
		frames, _ = v[1].(int64)
		copied, _ = v[2].(int64)
		return nil
	})
	return frames, copied, err
}

// copyNow copies the log into the database, as far as readers let it, while others
// commit.
func (l *wal) copyNow() error {
	done := make(chan error, 1)
	select {
	case l.now <- done:
	case <-l.done:
		return nil
	}
	return <-done
}

func (l *wal) close() error {
	close(l.stop)
	<-l.done
	return l.conn.close()
}
