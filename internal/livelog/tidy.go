package livelog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/culm-dev/culm/run"
)

// tempSuffix is behind the name of a log that is being written anew.
const tempSuffix = ".tmp"

// tidy writes the log anew with the first and the last bytes of each attempt, and
// renames it over the old one. Lines keep their numbers, so that who follows the
// log sees none twice.
func (l *log) tidy() error {
	old, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("tidy log: %w", err)
	}
	defer old.Close()
	temp := l.path + tempSuffix
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("tidy log: %w", err)
	}
	t := &tidying{was: l, out: bufio.NewWriter(f)}
	t.now = log{path: l.path, keep: l.keep, max: l.max, known: true, last: l.last, of: make(map[attempt]int64)}
	err = errors.Join(t.run(old), t.out.Flush(), f.Close())
	if err == nil {
		err = os.Rename(temp, l.path)
	}
	if err != nil {
		return fmt.Errorf("tidy log: %w", errors.Join(err, os.Remove(temp)))
	}
	*l = t.now
	return nil
}

// tidying goes through a log twice: to find what to leave out, and to write.
type tidying struct {
	was  *log
	now  log // what is known of the new file
	out  *bufio.Writer
	seen map[attempt]int64       // bytes that were passed
	gaps map[attempt]run.LogLine // what is left out; it stands where its last line stood
}

func (t *tidying) run(old io.ReadSeeker) error {
	t.gaps = make(map[attempt]run.LogLine)
	for _, pass := range []func([]byte, run.LogLine, bool) error{t.find, t.write} {
		if _, err := old.Seek(0, io.SeekStart); err != nil {
			return err
		}
		t.seen = make(map[attempt]int64)
		if err := eachLine(old, pass); err != nil {
			return err
		}
	}
	return nil
}

// leavesOut reports whether the next line is neither among the first nor among the
// last of its attempt.
func (t *tidying) leavesOut(raw []byte, line run.LogLine) bool {
	a := attemptOf(line)
	at := t.seen[a]
	t.seen[a] += int64(len(raw))
	return at >= t.was.keep && t.seen[a] <= t.was.of[a]-t.was.keep
}

func (t *tidying) find(raw []byte, line run.LogLine, valid bool) error {
	if valid && t.leavesOut(raw, line) {
		a := attemptOf(line)
		t.gaps[a] = cutLine(line, t.gaps[a].Cut+weight(line))
	}
	return nil
}

func (t *tidying) write(raw []byte, line run.LogLine, valid bool) error {
	if !valid {
		return nil
	}
	a := attemptOf(line)
	if t.leavesOut(raw, line) {
		if line.N != t.gaps[a].N {
			return nil
		}
		var err error
		if raw, err = appendLine(nil, t.gaps[a]); err != nil {
			return err
		}
	}
	t.now.count(a, int64(len(raw)))
	_, err := t.out.Write(raw)
	return err
}
