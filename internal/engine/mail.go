package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// message is what anyone may post to a run's mailbox.
type message struct {
	Kind string `json:"kind"` // cancel or resolve
	By   string `json:"by"`
	// Of a resolution: which doubt it ends, and how.
	Step    string      `json:"step,omitzero"`
	Attempt int         `json:"attempt,omitzero"`
	Verdict run.Verdict `json:"verdict,omitzero"`
	Output  run.Raw     `json:"output,omitzero"`
	Message string      `json:"message,omitzero"`
	// Failure is a late answer's definite failure.
	Failure *run.Failure `json:"failure,omitzero"`
}

const (
	mailCancel  = "cancel"
	mailResolve = "resolve"
)

// id tells repeated mail from another decision on the same thing.
func (m message) id() string {
	if m.Kind == mailCancel {
		return mailCancel
	}
	return fmt.Sprintf("%s/%s/%d", m.Kind, m.Step, m.Attempt)
}

func (e *Engine) post(ctx context.Context, runID string, m message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	err = e.store.Commit(ctx, &store.Batch{Posts: []store.Post{{Stream: runID, ID: m.id(), Body: body}}})
	if errors.Is(err, store.ErrMailConflict) {
		if m.Kind == mailCancel {
			return nil // someone else asked for the same
		}
		return refuse(CodeAlreadyDecided, "step %s was already decided otherwise", m.Step)
	}
	if err != nil {
		return asError(err, runID)
	}
	if o := e.owner(runID); o != nil {
		o.nudge()
	}
	return nil
}

// takeMail moves mail into the batch: the event and the removal in one commit.
func (o *owner) takeMail(ctx context.Context) error {
	o.mu.Lock()
	nudged := o.nudged
	o.nudged = false
	o.mu.Unlock()
	if !nudged && (!o.mailPending || o.e.cfg.Clock.Now().Sub(o.mailAt) < mailPause) {
		return nil
	}
	return o.readMail(ctx)
}

func (o *owner) readMail(ctx context.Context) error {
	o.mailAt, o.mailPending = o.e.cfg.Clock.Now(), false
	mails, err := o.e.store.Mail(ctx, o.id, o.mailSeen)
	if err != nil {
		return err
	}
	for _, mail := range mails {
		var m message
		if err := json.Unmarshal(mail.Body, &m); err != nil {
			return fmt.Errorf("read mail %d: %w", mail.Number, err)
		}
		if err := o.admitMail(m); err != nil {
			return err
		}
		o.batch.take = append(o.batch.take, mail.Number)
		o.mailSeen = mail.Number
	}
	return nil
}

// admitMail emits what a message says, if it still says something: a doubt that
// has ended is not ended again.
func (o *owner) admitMail(m message) error {
	switch m.Kind {
	case mailCancel:
		if o.state().CancelRequested != "" {
			return nil
		}
		return o.emit("", &run.CancelRequested{By: m.By})
	case mailResolve:
		rec := o.state().Steps[m.Step]
		if rec == nil || !rec.InDoubt || rec.Status.Ended() || rec.Attempts != m.Attempt {
			return nil
		}
		body, err := o.resolution(m)
		if err != nil {
			return err
		}
		return o.emit(m.Step, body)
	}
	return fmt.Errorf("admit mail: unknown kind %q", m.Kind)
}

func (o *owner) resolution(m message) (*run.StepResolved, error) {
	body := &run.StepResolved{Verdict: m.Verdict, By: m.By}
	switch m.Verdict {
	case run.VerdictSucceeded:
		raw, err := canon.Canonicalize(m.Output)
		if err != nil {
			return nil, err
		}
		decoded, err := canon.Decode(raw)
		if err != nil {
			return nil, err
		}
		body.Output, body.OutputBlob = o.hold(decoded, raw)
	case run.VerdictFailed:
		body.Failure = m.Failure
		if body.Failure == nil {
			body.Failure = &run.Failure{Code: run.ExecutionFailed, Message: m.Message}
		}
	}
	return body, nil
}

// lateAnswer is what an abandoned call came to after all: posted to the mailbox,
// so that it ends the doubt that abandoning began.
func (e *Engine) lateAnswer(c *call, out outcome) {
	e.abandoned.add(c.o.id, c.req.StepID, -1)
	if c.lock != nil {
		c.lock.Close()
	}
	log := e.cfg.Logger.With("run", c.o.id, "step", c.req.StepID)
	m := message{Kind: mailResolve, By: "tool", Step: c.req.StepID, Attempt: c.req.Attempt}
	switch body := c.lateBody(out); b := body.(type) {
	case *run.StepCompleted:
		m.Verdict, m.Output = run.VerdictSucceeded, b.Output
	case *run.StepFailed:
		m.Verdict, m.Failure = run.VerdictFailed, &b.Failure
	default:
		log.Warn("abandoned call returned, and its outcome is still unknown", "error", out.err)
		return
	}
	ctx, cancel := e.withTimeout(context.Background(), time.Minute, context.DeadlineExceeded)
	defer cancel()
	if err := e.post(ctx, c.o.id, m); err != nil {
		log.Warn("late answer could not be posted", "error", err)
		return
	}
	if e.owner(c.o.id) != nil {
		return
	}
	if err := e.settleAlone(ctx, c.o.id); err != nil {
		log.Info("late answer waits in the mailbox", "reason", err)
	}
}

func (c *call) lateBody(out outcome) run.Body {
	if out.err != nil {
		return c.failed(out)
	}
	raw, _, err := c.o.e.checkResult(c.step, out.res)
	if err != nil {
		return &run.StepFailed{Failure: run.Failure{Code: run.InvalidOutput, Message: err.Error(), EffectDone: true}}
	}
	return &run.StepCompleted{Output: raw}
}
