package sample

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
)

// Dies starts a process that calls [Die] with a store's URL and a death, and returns
// when that process has died.
type Dies func(ctx context.Context, url string, d Death) error

// maker makes a sample's runs, one process after the other.
type maker struct {
	url string
	ids map[string]string
}

// makeRuns makes a sample's runs in the empty store that url names. settle is called
// before the last death: what that leaves half done is part of the sample.
func makeRuns(ctx context.Context, url string, settle func(context.Context) error, dies Dies) error {
	m := &maker{url: url}
	death := func(d Death) func(context.Context) error {
		return func(ctx context.Context) error { return dies(ctx, url, d) }
	}
	for _, stage := range []func(context.Context) error{
		m.ended, m.suspended, m.again, death(DeathWithMail), death(DeathInCall), m.recovered, settle, death(LastDeath),
	} {
		if err := stage(ctx); err != nil {
			return fmt.Errorf("make sample: %w", err)
		}
	}
	return nil
}

// with does something in a world of its own, some hours after the making began.
func (m *maker) with(ctx context.Context, hours int, do func(*World, *culm.Engine) error) error {
	w := &World{Now: Made().Add(time.Duration(hours) * time.Hour)}
	e, err := w.Open(ctx, m.url)
	if err != nil {
		return err
	}
	if m.ids, err = IDs(ctx, e); err == nil {
		err = do(w, e)
	}
	return errors.Join(err, e.Close(ctx))
}

// run runs a run until nobody works on it.
func (m *maker) run(ctx context.Context, e *culm.Engine, name string, want run.Status) error {
	s, err := Start(name)
	if err != nil {
		return err
	}
	v, err := e.Run(ctx, s)
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	m.ids[name] = v.RunID
	return expect(name, v, want)
}

func expect(name string, v *run.View, want run.Status) error {
	if v.Status != want {
		return fmt.Errorf("run %s is %s, expected it %s: %v", name, v.Status, want, v.Failure)
	}
	return nil
}

// ended makes the runs that end in the first hour.
func (m *maker) ended(ctx context.Context) error {
	return m.with(ctx, 0, func(w *World, e *culm.Engine) error {
		if err := m.run(ctx, e, Complete, run.StatusSucceeded); err != nil {
			return err
		}
		if err := m.run(ctx, e, Failed, run.StatusFailed); err != nil {
			return err
		}
		if err := m.run(ctx, e, Resolved, run.StatusSuspended); err != nil {
			return err
		}
		if err := m.cancelled(ctx, e); err != nil {
			return err
		}
		w.Mended.Store(true)
		if err := m.restarted(ctx, e); err != nil {
			return err
		}
		return m.resolved(ctx, e)
	})
}

func (m *maker) cancelled(ctx context.Context, e *culm.Engine) error {
	s, err := Start(Cancelled)
	if err != nil {
		return err
	}
	v, err := e.Start(ctx, s)
	if err != nil {
		return err
	}
	if err := sleeping(ctx, e, v.RunID); err != nil {
		return err
	}
	if _, err := e.Cancel(ctx, v.RunID, culm.CancelOptions{}); err != nil {
		return err
	}
	if v, err = e.Wait(ctx, v.RunID); err != nil {
		return err
	}
	return expect(Cancelled, v, run.StatusCancelled)
}

func (m *maker) restarted(ctx context.Context, e *culm.Engine) error {
	v, err := e.Restart(ctx, m.ids[Failed], culm.RestartOptions{From: "work", Labels: map[string]string{Label: Restarted}})
	if err != nil {
		return err
	}
	if v, err = e.Wait(ctx, v.RunID); err != nil {
		return err
	}
	return expect(Restarted, v, run.StatusSucceeded)
}

func (m *maker) resolved(ctx context.Context, e *culm.Engine) error {
	id := m.ids[Resolved]
	if _, err := e.Resolve(ctx, id, "charge", culm.Resolution{Verdict: run.VerdictRerun}); err != nil {
		return err
	}
	if _, err := e.Continue(ctx, id, culm.ContinueOptions{Extend: time.Hour}); err != nil {
		return err
	}
	v, err := e.Wait(ctx, id)
	if err != nil {
		return err
	}
	return expect(Resolved, v, run.StatusSucceeded)
}

// suspended makes those that wait for somebody; Asleep is so when its engine is closed.
func (m *maker) suspended(ctx context.Context) error {
	return m.with(ctx, 2, func(_ *World, e *culm.Engine) error {
		if err := m.run(ctx, e, Doubtful, run.StatusSuspended); err != nil {
			return err
		}
		if err := m.run(ctx, e, Long, run.StatusSuspended); err != nil {
			return err
		}
		s, err := Start(Asleep)
		if err != nil {
			return err
		}
		v, err := e.Start(ctx, s)
		if err != nil {
			return err
		}
		return sleeping(ctx, e, v.RunID)
	})
}

// again continues Asleep, which sleeps on, and suspends it once more.
func (m *maker) again(ctx context.Context) error {
	return m.with(ctx, 2, func(_ *World, e *culm.Engine) error {
		if _, err := e.Continue(ctx, m.ids[Asleep], culm.ContinueOptions{}); err != nil {
			return err
		}
		return sleeping(ctx, e, m.ids[Asleep])
	})
}

// recovered suspends what the first death left behind.
func (m *maker) recovered(ctx context.Context) error {
	return m.with(ctx, 5, func(_ *World, e *culm.Engine) error {
		v, err := e.RecoverRun(ctx, m.ids[Recovered])
		if err != nil {
			return err
		}
		return expect(Recovered, v, run.StatusSuspended)
	})
}

// sleeping waits until a run waits for nothing but time.
func sleeping(ctx context.Context, e *culm.Engine, id string) error {
	return until(ctx, func() (bool, error) {
		v, err := e.Progress(ctx, id, culm.ProgressOptions{Session: culm.AnySession})
		return err == nil && v.Status == run.StatusRunning && len(v.Waits) > 0, err
	})
}

// until waits for a fact.
func until(ctx context.Context, fact func() (bool, error)) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		if ok, err := fact(); ok || err != nil {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
