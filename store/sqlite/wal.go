package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
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
	wake chan struct{} // capacity 1
	stop chan struct{}
	done chan struct{}

	// written estimates the bytes written since the last wake-up.
	written int

	// file is the log itself, opened when it is first made longer here, size what
	// it measured when last looked at, grown how often it was longer than that.
	file  *os.File
	size  int64
	grown int
}

const (
	walWakeBytes     = 2 << 20
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
	l := &wal{w: w, conn: c, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go l.loop()
	return l, nil
}

// makeRoom makes the log longer before it has to grow. A sync that follows a
// write past the end of a file must write the file's new length as well, which
// nearly doubles what a small commit costs; zeros written ahead spare all but
// one in thirty commits that. To SQLite zeros after the last frame are what it
// finds in any log that it has begun to write anew: not a frame.
//
// The caller is in a write transaction, so nobody else changes the log. Failing
// is no error: the commit will tell what is wrong with the disk.
func (l *wal) makeRoom() {
	if l.file == nil {
		f, err := os.OpenFile(l.w.s.paths.db+"-wal", os.O_WRONLY, 0)
		if err != nil {
			return
		}
		l.file = f
	}
	info, err := l.file.Stat()
	if err != nil {
		return
	}
	longer := info.Size() > l.size
	l.size = info.Size()
	if !longer || l.size == 0 || l.size > walPrepared {
		return
	}
	// A process that commits once or twice has no use for it.
	if l.grown++; l.grown <= 2 {
		return
	}
	n, _ := l.file.WriteAt(make([]byte, walChunk), l.size)
	l.size += int64(n)
}

// wrote counts what a group wrote and wakes the checkpointer when it is much.
func (l *wal) wrote(bytes int) {
	l.written += bytes
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
		case <-l.wake:
			// A checkpoint that fails has cost nobody anything: the log stays
			// longer, and a disk that fails will show in a commit.
			_ = l.checkpoint()
		}
	}
}

func (l *wal) checkpoint() error {
	frames, _, err := l.run(`PRAGMA wal_checkpoint(NOOP)`)
	if err != nil || frames < walFrames {
		return err
	}
	if _, _, err := l.run(`PRAGMA wal_checkpoint(PASSIVE)`); err != nil {
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
	if err := l.w.turnstile.enter(s.opt.BusyTimeout); err != nil {
		return err
	}
	defer func() { _ = l.w.turnstile.leave() }()
	frames, copied, err := l.run(`PRAGMA wal_checkpoint(PASSIVE)`)
	if err != nil || frames > copied || frames*4096 < walTruncateBytes {
		return err
	}
	_, _, err = l.run(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}

// run runs a checkpoint and returns the frames in the log and those copied.
func (l *wal) run(pragma string) (frames, copied int64, err error) {
	err = l.conn.query(context.Background(), pragma, nil, func(v []driver.Value) error {
		frames, _ = v[1].(int64)
		copied, _ = v[2].(int64)
		return nil
	})
	return frames, copied, err
}

func (l *wal) close() error {
	close(l.stop)
	<-l.done
	err := l.conn.close()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	return err
}
