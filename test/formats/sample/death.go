package sample

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

// Death is one process's: it leaves runs without anybody who works on them.
type Death string

// The deaths.
const (
	DeathWithMail Death = "with_mail" // leaves Abandoned, Withdrawn and Answered
	DeathInCall   Death = "in_call"   // leaves Recovered
	LastDeath     Death = "last"      // leaves Killed
)

// runs are those that it leaves, and how many hours after the making began.
func (d Death) runs() (names []string, hours int) {
	switch d {
	case DeathWithMail:
		return []string{Abandoned, Withdrawn, Answered}, 3
	case DeathInCall:
		return []string{Recovered}, 4
	default:
		return []string{Killed}, 6
	}
}

// status is the exit status of a process that died as it was to.
const status = 77

// DieArg is the first argument of a process that is to call [Die]; a store's URL and a
// death are the others.
const DieArg = "die"

// DiesAs starts the program exe, which must understand [DieArg], to die.
func DiesAs(exe string) Dies {
	return func(ctx context.Context, url string, d Death) error {
		cmd := exec.CommandContext(ctx, exe, DieArg, url, string(d))
		cmd.Stderr = os.Stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != status {
			return fmt.Errorf("the process that was to die (%s) ended otherwise: %v", d, err)
		}
		return nil
	}
}

// Die ends the process by os.Exit, in the middle of runs of the store that url names.
// It returns only if it cannot.
func Die(ctx context.Context, url string, d Death) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	st, err := local.OpenStore(ctx, url)
	if err != nil {
		return err
	}
	names, hours := d.runs()
	halted := make(chan string, len(names)) // runs that are in the call of halt
	w := &World{Now: Made().Add(time.Duration(hours) * time.Hour), Halt: func(ctx context.Context, c tool.Call) {
		halted <- c.RunID
		<-ctx.Done()
	}}
	e, err := w.OpenOver(ctx, deaf{st})
	if err != nil {
		return err
	}
	ids := make(map[string]string)
	for _, name := range names {
		if ids[name], err = begin(ctx, e, name, halted); err != nil {
			return fmt.Errorf("begin %s: %w", name, err)
		}
	}
	if d == DeathWithMail {
		if err := post(ctx, url, w.Now, st, ids); err != nil {
			return fmt.Errorf("post mail: %w", err)
		}
	}
	os.Exit(status)
	return nil
}

// begin starts a run, and returns when it is where its process is to die.
func begin(ctx context.Context, e *culm.Engine, name string, halted <-chan string) (id string, err error) {
	s, err := Start(name)
	if err != nil {
		return "", err
	}
	v, err := e.Start(ctx, s)
	if err != nil {
		return "", err
	}
	if name == Abandoned {
		return v.RunID, sleeping(ctx, e, v.RunID)
	}
	select {
	case <-halted:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if name != Answered {
		return v.RunID, nil
	}
	return v.RunID, until(ctx, func() (bool, error) {
		now, err := e.Progress(ctx, v.RunID, culm.ProgressOptions{})
		return err == nil && now.Steps["charge"] != nil && now.Steps["charge"].InDoubt, err
	})
}

// post has another engine write to the owner of runs, who does not read it, and
// returns when that is durable.
func post(ctx context.Context, url string, now time.Time, st store.Store, ids map[string]string) error {
	other, err := (&World{Now: now}).Open(ctx, url)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() {
		_, err := other.Cancel(ctx, ids[Withdrawn], culm.CancelOptions{})
		failed <- err
	}()
	go func() {
		_, err := other.Resolve(ctx, ids[Answered], "charge", culm.Resolution{
			Verdict: run.VerdictSucceeded, Output: []byte(`"charged after all"`),
		})
		failed <- err
	}()
	return until(ctx, func() (bool, error) {
		for _, name := range []string{Withdrawn, Answered} {
			mail, err := st.Mail(ctx, ids[name], 0)
			if err != nil || len(mail) == 0 {
				select {
				case err = <-failed:
				default:
				}
				return false, err
			}
		}
		return true, nil
	})
}

// deaf is a store whose mail nobody reads.
type deaf struct{ store.Store }

func (deaf) Mail(context.Context, string, uint64) ([]store.Mail, error) { return nil, nil }
