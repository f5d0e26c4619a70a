package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/culm-dev/culm/tool"
)

const (
	// maxRecord is how long one record of git's output may be, in bytes.
	maxRecord = 8 << 20
	// maxStderr is how much of git's complaint is kept, in bytes.
	maxStderr = 2 << 10
)

// errEnough ends the reading of records without a failure.
var errEnough = errors.New("enough")

// records runs git and calls fn for each piece of its output that ends in NUL,
// and for what follows the last. fn returns errEnough to stop.
func (g *isolated) records(ctx context.Context, fn func(record string) error, argv ...string) error {
	return g.run(ctx, func(out io.Reader) error {
		s := bufio.NewScanner(out)
		s.Buffer(make([]byte, 0, 64<<10), maxRecord)
		s.Split(splitNUL)
		for s.Scan() {
			if err := fn(s.Text()); err != nil {
				return err
			}
		}
		if errors.Is(s.Err(), bufio.ErrTooLong) {
			return tool.Failed("too_large", false, fmt.Sprintf("git %s gave a record of more than %d MiB", argv[0], maxRecord>>20))
		}
		return s.Err()
	}, argv...)
}

func splitNUL(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// run runs git and has read take its output. What read returns decides, if it is
// not nil; git is then ended.
func (g *isolated) run(ctx context.Context, read func(io.Reader) error, argv ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.program, argv...)
	cmd.Env = g.env
	cmd.Dir = g.dir
	if g.repo.top != "" {
		cmd.Dir = g.repo.top
	}
	cmd.WaitDelay = 2 * time.Second
	var complaint tail
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		return tool.Failed("execution_failed", true, "run git: "+err.Error())
	}
	if err := cmd.Start(); err != nil {
		return tool.Failed("execution_failed", false, "run git: "+err.Error())
	}
	readErr := read(out)
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	switch {
	case errors.Is(readErr, errEnough):
		return nil
	case readErr != nil:
		return readErr
	case err != nil:
		return tool.Failed("execution_failed", false, fmt.Sprintf("git %s: %v: %s", argv[0], err, complaint.text()))
	}
	return nil
}

// line runs git for one short answer; ok is false if git exits with an error.
func (g *isolated) line(ctx context.Context, argv ...string) (answer string, ok bool) {
	err := g.run(ctx, func(out io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(out, maxPointer))
		answer = strings.TrimSpace(string(b))
		return err
	}, argv...)
	return answer, err == nil
}

// tail keeps the last bytes that are written to it.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > maxStderr {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-maxStderr:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	return strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "\uFFFD")
}
