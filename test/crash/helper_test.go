//go:build unix

package crash_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/testkit/crashpoint"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
	"github.com/culm-dev/culm/store/sqlite"
	"github.com/culm-dev/culm/tool"
)

//go:embed testdata/pair.yaml
var pair []byte

// worker is a helper process at work: an engine over a store that it may die in.
type worker struct {
	*culm.Engine
	task  task
	store store.Store
	said  report
	// begun is closed when the process has said how it began: tools wait for that,
	// so that it is said however soon the process dies.
	begun chan struct{}
}

// open opens the store.
func (k task) open(ctx context.Context) (store.Store, error) {
	if k.Files {
		return file.Open(ctx, k.Data, file.Options{})
	}
	return sqlite.Open(ctx, filepath.Join(k.Data, "culm.db"), sqlite.Options{})
}

// perform does the task.
func perform(k task) error {
	ctx := context.Background()
	if k.Op == opCompete {
		return compete(ctx, k)
	}
	st, err := k.open(ctx)
	if err != nil {
		return err
	}
	w := &worker{task: k, store: crashpoint.Wrap(st, k.Die, k.Step), begun: make(chan struct{})}
	w.Engine, err = culm.Open(ctx, w.store, culm.Config{
		Tools:     w.tools(),
		Authority: run.Authority{Trusted: true, Allow: []string{tool.CapWrite}},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return errors.Join(err, st.Close())
	}
	err = w.do(ctx)
	return errors.Join(err, w.Close(ctx), st.Close())
}

func (w *worker) do(ctx context.Context) error {
	err := w.act(ctx)
	var refused *culm.Error
	if errors.As(err, &refused) {
		w.said.Refused = refused.Code
		w.said.Doubts, _ = refused.Details["steps"].([]string)
		err = nil
	}
	if err != nil {
		return err
	}
	return w.report(ctx)
}

func (w *worker) act(ctx context.Context) error {
	switch w.task.Op {
	case opLook:
		return nil
	case opRun:
		v, err := w.Start(ctx, culm.Start{Workflow: pair, Args: json.RawMessage(`{"word":"go"}`), SessionID: "night"})
		return w.through(ctx, v, err)
	case opContinue:
		v, err := w.Continue(ctx, w.task.Run, culm.ContinueOptions{Session: "night", Authority: w.authority()})
		return w.through(ctx, v, err)
	case opRestart:
		v, err := w.Restart(ctx, w.task.Run, culm.RestartOptions{Session: "night"})
		return w.through(ctx, v, err)
	case opCancel:
		_, err := w.Cancel(ctx, w.task.Run, culm.CancelOptions{Session: culm.AnySession})
		return err
	case opRecover:
		all, err := w.Recover(ctx)
		for _, r := range all {
			w.said.Recovered = append(w.said.Recovered, r.RunID)
		}
		return err
	case opResolve:
		return w.resolve(ctx, w.task.Run, w.task.Step)
	case opFinish:
		return w.finish(ctx, w.task.Run)
	case opShape:
		return w.shape(ctx)
	}
	return fmt.Errorf("no such task: %q", w.task.Op)
}

func (w *worker) authority() run.Authority {
	return run.Authority{Trusted: true, Allow: []string{tool.CapWrite}}
}

// through says how a run began, and sees it through.
func (w *worker) through(ctx context.Context, v *run.View, err error) error {
	if err != nil {
		return err
	}
	w.task.Run = v.RunID
	if err := say(report{Began: v}); err != nil {
		return err
	}
	close(w.begun)
	_, err = w.Wait(ctx, v.RunID)
	return err
}

// finish recovers the run, decides what is in doubt, and continues it until it has
// ended.
func (w *worker) finish(ctx context.Context, id string) error {
	w.begin()
	for {
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		v, err := w.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession})
		if err != nil || v.Status.Terminal() {
			return err
		}
		opts := culm.ContinueOptions{Session: culm.AnySession, Authority: w.authority(), Rerun: []tool.Effect{tool.Read, tool.Idempotent}}
		_, err = w.Continue(ctx, id, opts)
		var refused *culm.Error
		if errors.As(err, &refused) && refused.Code == culm.CodeStepInDoubt {
			steps, _ := refused.Details["steps"].([]string)
			err = w.resolve(ctx, id, steps...)
		}
		if err != nil {
			return err
		}
		if _, err := w.Wait(ctx, id); err != nil {
			return err
		}
	}
}

// begin lets tools do their work at once.
func (w *worker) begin() {
	select {
	case <-w.begun:
	default:
		close(w.begun)
	}
}

// resolve decides on steps in doubt as a person would who looks at what they did.
func (w *worker) resolve(ctx context.Context, id string, steps ...string) error {
	v, err := w.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession})
	if err != nil {
		return err
	}
	for _, step := range steps {
		rec := v.Steps[step]
		if rec == nil {
			return fmt.Errorf("resolve: there is no step %s", step)
		}
		output, happened, err := w.happened(id, step, rec.Attempts)
		if err != nil {
			return err
		}
		r := culm.Resolution{Session: culm.AnySession, Verdict: run.VerdictRerun}
		if happened {
			r.Verdict, r.Output = run.VerdictSucceeded, output
		}
		if _, err := w.Resolve(ctx, id, step, r); err != nil {
			return fmt.Errorf("resolve %s: %w", step, err)
		}
	}
	return nil
}

// report says where everything stands.
func (w *worker) report(ctx context.Context) error {
	w.said.Final = true
	page, err := w.List(ctx, store.Query{Limit: 1000})
	if err != nil {
		return err
	}
	w.said.Runs = page.Runs
	id := w.task.Run
	if id == "" && len(page.Runs) == 1 {
		id = page.Runs[0].RunID
	}
	if id != "" {
		w.said.View, err = w.Progress(ctx, id, culm.ProgressOptions{Values: true, Session: culm.AnySession})
		if err != nil {
			return err
		}
		if w.said.Account, err = w.store.Account(ctx, id); err != nil {
			return err
		}
	}
	slices.Sort(w.said.Recovered)
	return say(w.said)
}

func say(r report) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}
