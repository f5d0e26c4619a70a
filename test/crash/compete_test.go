//go:build unix

package crash_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/echo"
)

// ten is a workflow of ten steps that do nothing.
func ten() []byte {
	text := "workflow_schema: 1\nid: ten\nrevision: 1\nsteps:\n"
	for i := range 10 {
		text += fmt.Sprintf("  - {id: s%d, type: tool, tool: echo, args: {value: %d}}\n", i, i)
	}
	return []byte(text)
}

// share is what a competing process had of the data directory.
type share struct {
	Runs    int
	Commits int64
	Longest time.Duration // that a commit took, with its wait
}

// timed is a store that notes how long commits take.
type timed struct {
	store.Store
	commits, longest atomic.Int64
}

// Commit implements store.Store.
func (s *timed) Commit(ctx context.Context, b *store.Batch) error {
	start := time.Now()
	err := s.Store.Commit(ctx, b)
	took := int64(time.Since(start))
	s.commits.Add(1)
	for old := s.longest.Load(); took > old && !s.longest.CompareAndSwap(old, took); old = s.longest.Load() {
	}
	return err
}

// compete runs workflows, one after the other, from the first line of standard input
// to its end.
func compete(ctx context.Context, k task) error {
	st, err := k.open(ctx)
	if err != nil {
		return err
	}
	clocked := &timed{Store: st}
	engine, err := culm.Open(ctx, clocked, culm.Config{Tools: []tool.Tool{echo.New()}})
	if err != nil {
		return errors.Join(err, st.Close())
	}
	mine, err := competing(ctx, engine)
	mine.Commits, mine.Longest = clocked.commits.Load(), time.Duration(clocked.longest.Load())
	err = errors.Join(err, engine.Close(ctx), st.Close())
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(mine)
}

func competing(ctx context.Context, engine *culm.Engine) (share, error) {
	var mine share
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return mine, fmt.Errorf("wait for the start: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = io.Copy(io.Discard, in)
	}()
	for {
		v, err := engine.Run(ctx, culm.Start{Workflow: ten()})
		if err != nil {
			return mine, err
		}
		if v.Status != run.StatusSucceeded {
			return mine, fmt.Errorf("run %s is %s", v.RunID, v.Status)
		}
		mine.Runs++
		select {
		case <-over:
			return mine, nil
		default:
		}
	}
}

// TestEightProcessesShareADataDirectory: all of them get on. How long a commit waits
// is asserted only in a campaign of a minute or more, without the race detector, and
// on a machine that does nothing else: the test runs alone.
func TestEightProcessesShareADataDirectory(t *testing.T) {
	seconds := number(t, "CULM_FAIR_SECONDS", 4)
	for _, kind := range []string{inSQLite, inFiles} {
		t.Run(kind, func(t *testing.T) { testEight(t, kind, seconds) })
	}
}

func testEight(t *testing.T, kind string, seconds int) {
	s := newSiteOn(t, kind)
	processes := make([]*process, 8)
	inputs := make([]io.WriteCloser, len(processes))
	for i := range processes {
		processes[i], inputs[i] = s.competitor()
	}
	for _, in := range inputs {
		if _, err := fmt.Fprintln(in, "go"); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-time.After(time.Duration(seconds) * time.Second): // how long they compete
	case <-t.Context().Done():
	}
	for _, in := range inputs {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
	for i, p := range processes {
		p.want(0)
		mine := lines[share](p)[0]
		t.Logf("process %d: %d runs, %d commits, the longest took %s", i, mine.Runs, mine.Commits, mine.Longest)
		if mine.Runs == 0 {
			t.Errorf("process %d came to nothing", i)
		}
		if seconds >= 60 && !slowed && mine.Longest > time.Second {
			t.Errorf("process %d waited %s for a commit", i, mine.Longest)
		}
	}
	s.check()
}

// competitor starts a process that competes as soon as it is told to.
func (s *site) competitor() (*process, io.WriteCloser) {
	s.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	s.t.Cleanup(func() { _ = w.Close() })
	cmd := s.helperCommand(task{Op: opCompete})
	cmd.Stdin = r
	return s.launch("compete", cmd), w
}
