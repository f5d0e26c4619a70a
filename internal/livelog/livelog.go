// Package livelog keeps what the tools of runs print while they run, in one file
// for each run: <dir>/<run id>.jsonl, a [run.LogLine] a line.
//
// Nothing here is synced or promised: a log is for reading along. It outlives the
// process that writes it, holds what was written when that was killed, and can be
// read by any process meanwhile.
//
// A log is bounded: of each attempt of a step the first and the last MiB are kept,
// less if a run has very many. What was left out between is said by a line that
// has the field cut. For that a log is now and then written anew and renamed over
// the old file, so that a reader finds either the one or the other.
package livelog

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/culm-dev/culm/run"
)

// Options change how much is kept. The zero value is usable.
type Options struct {
	// Keep is how many bytes of an attempt's first lines, and of its last, are kept
	// at least, if MaxLog allows. Default 1 MiB.
	Keep int64
	// MaxLog is how many bytes of a run's log are kept at most; of each attempt
	// less than Keep is kept to reach that, but not less than 4 KiB. A file may be
	// twice as large between two tidyings. Default 64 MiB.
	MaxLog int64
	// Logger is told once if logs cannot be written. Default: discarded.
	Logger *slog.Logger
}

const (
	defaultKeep   = 1 << 20
	defaultMaxLog = 64 << 20
	leastKeep     = 4 << 10
)

// Files keeps the logs of one folder. It is safe for concurrent use, and any
// number of processes may use one folder.
type Files struct {
	dir  string
	opts Options
	warn sync.Once

	mu   sync.Mutex
	runs map[string]*writer
}

// New keeps logs in dir, which is made when something is first written. Nothing
// needs to be closed: files are open only while they are written or read.
func New(dir string, o Options) *Files {
	if o.Keep <= 0 {
		o.Keep = defaultKeep
	}
	if o.MaxLog <= 0 {
		o.MaxLog = defaultMaxLog
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Files{dir: dir, opts: o, runs: make(map[string]*writer)}
}

// path is the file of a run's log below dir; false if the id cannot be the name of
// one.
func path(dir, runID string) (string, bool) {
	name := runID + ".jsonl"
	return filepath.Join(dir, name), runID != "" && filepath.IsLocal(name) && filepath.Base(name) == name
}

// Remove removes the log of a run from the folder dir; that there is none is no
// error. A process that still writes to it loses those lines.
func Remove(dir, runID string) error {
	file, ok := path(dir, runID)
	if !ok {
		return nil
	}
	for _, name := range []string{file, file + tempSuffix} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove log of run %s: %w", runID, err)
		}
	}
	return nil
}

// Append adds lines to a run's log and numbers them. It returns when they can be
// read, or when they could not be written, which is logged once.
func (f *Files) Append(runID string, lines []run.LogLine) {
	w := f.writer(runID)
	if w == nil || len(lines) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.log.add(lines); err != nil {
		f.failed(err)
	}
}

// Release forgets what is known of a run's log; it is looked through again when
// more is appended.
func (f *Files) Release(runID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.runs, runID)
}

// Remove deletes a run's log, as the function [Remove] does.
func (f *Files) Remove(runID string) error {
	f.Release(runID)
	return Remove(f.dir, runID)
}

// writer is the one of a run's log in this process.
type writer struct {
	mu  sync.Mutex
	log log
}

// writer gives the writer of a run's log; nil if the id cannot name a file.
func (f *Files) writer(runID string) *writer {
	file, ok := path(f.dir, runID)
	if !ok {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.runs[runID]
	if w == nil {
		w = &writer{log: log{path: file, keep: f.opts.Keep, max: f.opts.MaxLog}}
		f.runs[runID] = w
	}
	return w
}

// failed tells of the first error; what could not be written is lost, and those
// who run Culm need not hear it of every line.
func (f *Files) failed(err error) {
	f.warn.Do(func() {
		f.opts.Logger.Warn("what tools print is not kept: the log cannot be written", "error", err)
	})
}
