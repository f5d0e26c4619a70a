package livelog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"

	"github.com/culm-dev/culm/run"
)

// Read gives the lines of a run's log, oldest first; none if there is no log.
// Then, each time more delivers, those that came since. It ends at the present end
// if more is nil, or after a last look when more is closed.
func (f *Files) Read(ctx context.Context, runID string, more <-chan struct{}) iter.Seq2[run.LogLine, error] {
	return func(yield func(run.LogLine, error) bool) {
		file, ok := path(f.dir, runID)
		if !ok {
			return
		}
		r := &reader{path: file}
		defer r.close()
		for last := more == nil; ; {
			goesOn, err := r.readOn(ctx, yield)
			if err != nil {
				yield(run.LogLine{}, err)
				return
			}
			if !goesOn || last {
				return
			}
			select {
			case _, open := <-more:
				last = !open
			case <-ctx.Done():
				yield(run.LogLine{}, context.Cause(ctx))
				return
			}
		}
	}
}

// reader reads a log that grows, and that may be replaced by a tidier one.
type reader struct {
	path  string
	file  *os.File // nil while there is none
	lines *bufio.Reader
	begun []byte // of a line that is still being written
	last  uint64 // the number of the last line that was given
}

func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close()
		r.file = nil
	}
}

// readOn yields the lines up to the present end; false if the reader of them has
// had enough.
func (r *reader) readOn(ctx context.Context, yield func(run.LogLine, error) bool) (bool, error) {
	if err := r.reopen(); err != nil || r.file == nil {
		return true, err
	}
	for ctx.Err() == nil {
		part, err := r.lines.ReadBytes('\n')
		r.begun = append(r.begun, part...)
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("read log: %w", err)
		}
		line, valid := decode(r.begun)
		r.begun = r.begun[:0]
		if !valid || line.N <= r.last {
			continue
		}
		r.last = line.N
		if !yield(line, nil) {
			return false, nil
		}
	}
	return false, context.Cause(ctx)
}

// reopen opens the file that the path names now, from its beginning if it is
// another than before.
func (r *reader) reopen() error {
	now, err := os.Stat(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		r.close()
		return nil
	}
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	if r.file != nil {
		if was, err := r.file.Stat(); err == nil && os.SameFile(was, now) {
			return nil
		}
		r.close()
	}
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	r.file, r.lines, r.begun = f, bufio.NewReaderSize(f, 64<<10), nil
	return nil
}
