package livelog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/culm-dev/culm/run"
)

// log is the file of one run's log and what is known of it.
type log struct {
	path      string
	keep, max int64 // see Options; keep is halved where max asks for it

	known  bool // the file was looked through, or made
	last   uint64
	size   int64             // of the file
	of     map[attempt]int64 // how much of it belongs to which attempt
	excess int64             // how much of it a tidying would leave out
}

// add appends lines to the file. After an error the file is looked through again.
func (l *log) add(lines []run.LogLine) (err error) {
	defer func() {
		if err != nil {
			l.known = false
		}
	}()
	f, err := l.open()
	if f == nil || err != nil {
		return err
	}
	b, err := l.encode(lines)
	if err == nil {
		_, err = f.Write(b)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write log: %w", err)
	}
	if l.untidy() {
		return l.tidy()
	}
	return nil
}

// encode numbers and books lines, and makes them what is written.
func (l *log) encode(lines []run.LogLine) (b []byte, err error) {
	for _, line := range lines {
		l.last++
		line.N = l.last
		before := len(b)
		if b, err = appendLine(b, line); err != nil {
			return nil, fmt.Errorf("encode line: %w", err)
		}
		l.count(attemptOf(line), int64(len(b)-before))
	}
	return b, nil
}

// open opens the file to append to it. It is nil without an error if somebody
// removed the log, which is then not begun again.
func (l *log) open() (*os.File, error) {
	if l.known {
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("open log: %w", err)
		}
		return f, nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return nil, fmt.Errorf("make folder of logs: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := l.survey(f); err != nil {
		return nil, errors.Join(fmt.Errorf("read log: %w", err), f.Close())
	}
	return f, nil
}

// survey looks through a log that was begun before. A last line that was torn by
// the death of its writer is ended.
func (l *log) survey(f *os.File) error {
	l.last, l.size, l.excess, l.of = 0, 0, 0, make(map[attempt]int64)
	whole := true
	err := eachLine(f, func(raw []byte, line run.LogLine, valid bool) error {
		whole = raw[len(raw)-1] == '\n'
		if !valid {
			l.size += int64(len(raw))
			return nil
		}
		l.last = max(l.last, line.N)
		l.count(attemptOf(line), int64(len(raw)))
		return nil
	})
	if err == nil && !whole {
		_, err = f.Write([]byte("\n"))
		l.size++
	}
	l.known = err == nil
	return err
}

// count books bytes of the file for an attempt.
func (l *log) count(a attempt, n int64) {
	l.excess -= l.over(l.of[a])
	l.size += n
	l.of[a] += n
	l.excess += l.over(l.of[a])
}

// over is how much of an attempt's bytes a tidying would leave out.
func (l *log) over(n int64) int64 { return max(0, n-2*l.keep) }

// untidy reports whether so much can be left out that writing the file anew is
// worth it: what that costs stays in proportion to what was printed.
func (l *log) untidy() bool {
	for l.size-l.excess > l.max && l.keep > leastKeep {
		l.keep /= 2
		l.excess = 0
		for _, n := range l.of {
			l.excess += l.over(n)
		}
	}
	return l.excess > 0 && l.excess >= max(2*l.keep, l.size/2)
}

// eachLine calls do with every line of a log, and what it holds if it is valid. A
// line is not valid if its writer, or the machine, died while it was written.
func eachLine(r io.Reader, do func(raw []byte, line run.LogLine, valid bool) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	for {
		raw, err := lines.ReadBytes('\n')
		if len(raw) > 0 {
			line, valid := decode(raw)
			if err := do(raw, line, valid); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func decode(raw []byte) (run.LogLine, bool) {
	var line run.LogLine
	err := json.Unmarshal(raw, &line)
	return line, err == nil && line.N > 0
}

// appendLine appends a line as the JSON that [run.LogLine] has.
func appendLine(b []byte, line run.LogLine) ([]byte, error) {
	var serr, terr error
	b = append(b, `{"n":`...)
	b = strconv.AppendUint(b, line.N, 10)
	b = append(b, `,"at":"`...)
	b = line.At.AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","step":`...)
	b, err := jsontext.AppendQuote(b, line.Step)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(line.Attempt), 10)
	if line.Stream != "" {
		b = append(b, `,"stream":`...)
		b, serr = jsontext.AppendQuote(b, line.Stream)
	}
	b = append(b, `,"text":`...)
	b, terr = jsontext.AppendQuote(b, line.Text)
	if line.Open {
		b = append(b, `,"open":true`...)
	}
	if line.Cut > 0 {
		b = append(b, `,"cut":`...)
		b = strconv.AppendInt(b, line.Cut, 10)
	}
	return append(b, "}\n"...), errors.Join(err, serr, terr)
}

// attempt is what limits are counted by.
type attempt struct {
	step   string
	number int
}

func attemptOf(line run.LogLine) attempt { return attempt{line.Step, line.Attempt} }

// cutLine stands for text of a line's attempt that is not kept.
func cutLine(line run.LogLine, bytes int64) run.LogLine {
	return run.LogLine{N: line.N, At: line.At, Step: line.Step, Attempt: line.Attempt, Cut: bytes}
}

// weight is how many bytes of output are not kept if a line is not.
func weight(line run.LogLine) int64 {
	if line.Cut > 0 {
		return line.Cut
	}
	if line.Open {
		return int64(len(line.Text))
	}
	return int64(len(line.Text)) + 1
}
