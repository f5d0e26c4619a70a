package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/internal/policy"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/workflow"
)

// Start says what to run.
type Start struct {
	// Program is the compiled definition. Or:
	Program *workflow.Program
	// Workflow is a definition as YAML or JSON; nested ones come from
	// Config.Catalog. Ignored when Program is set.
	Workflow []byte
	// Args are the arguments, JSON; nil is {}.
	Args json.RawMessage
	// Budget tightens the definition's budget; nil leaves it.
	Budget *workflow.Budgets
	// SessionID groups runs; "" is "local".
	SessionID string
	// Key makes the start idempotent within its session: the same request under
	// the same key gives the same run, another is refused with key_conflict.
	Key string
	// Labels are what listings can be filtered by: at most 32, named by at most 63
	// of a-z, 0-9 and ._/- that begin with a letter or digit, with values of at
	// most 256 bytes without control characters.
	Labels map[string]string
	// Authority is added to the engine's own for this run.
	Authority run.Authority
}

// DefaultSession is the session of runs that name none.
const DefaultSession = "local"

// AnySession in an option matches every session: for operators.
const AnySession = "*"

// Start starts a run and returns once its running snapshot is durable.
func (e *Engine) Start(ctx context.Context, s Start) (*run.View, error) {
	view, _, err := e.start(ctx, s)
	return view, err
}

// Run is Start and Wait.
func (e *Engine) Run(ctx context.Context, s Start) (*run.View, error) {
	v, o, err := e.start(ctx, s)
	if err != nil {
		return nil, err
	}
	if o == nil { // started before
		return e.Wait(ctx, v.RunID)
	}
	return e.await(ctx, o)
}

// start gives the run and, if it is a new one, its owner.
func (e *Engine) start(ctx context.Context, s Start) (*run.View, *owner, error) {
	if r := e.closedRefusal(); r != nil {
		return nil, nil, r
	}
	p, err := e.prepare(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if p.existing != "" {
		view, err := e.repeated(ctx, p.existing)
		return view, nil, err
	}
	o, err := e.create(p)
	if err != nil {
		return nil, nil, err
	}
	view, err := e.launchNew(ctx, o)
	if id, same := sameKey(err, p); same {
		view, err := e.repeated(ctx, id)
		return view, nil, err
	}
	if err != nil {
		return nil, nil, p.refused(err, o.id)
	}
	return view, o, nil
}

// repeated gives the run that an earlier start under the same key began.
func (e *Engine) repeated(ctx context.Context, runID string) (*run.View, error) {
	view, err := e.progress(ctx, runID, runID, ProgressOptions{Session: AnySession})
	if err == nil {
		view.Repeated = true
	}
	if errors.Is(err, &Error{Code: CodeNotFound}) {
		err = refuse(CodeKeyConflict, "the key was used before: it started run %s, which was removed since", runID).
			with("run_id", runID).hint("to start it once more, give another key")
	}
	return view, err
}

// prepared is a start that nothing refuses so far.
type prepared struct {
	start    Start
	prog     *workflow.Program
	args     any
	rawArgs  run.Raw
	bundle   run.Raw
	budget   run.Budget
	auth     run.Authority
	hash     string // of the request, with a key
	existing string // the run that this request started before

	restartedFrom string
	takeover      *takeover // nil unless it goes on from a step of that run
	workspace     string
}

func (e *Engine) prepare(ctx context.Context, s Start) (*prepared, error) {
	p, err := e.draft(s)
	if err != nil {
		return nil, err
	}
	return p, e.mayStart(ctx, p)
}

// mayStart refuses a start that cannot be; of one that was made before it finds the
// run. It writes nothing.
func (e *Engine) mayStart(ctx context.Context, p *prepared) error {
	if p.start.Key != "" {
		if err := e.findKey(ctx, p); err != nil || p.existing != "" {
			return err
		}
	}
	return e.preflight(p)
}

// draft makes a start of what the caller gave, which must be valid.
func (e *Engine) draft(s Start) (*prepared, error) {
	if s.SessionID == "" {
		s.SessionID = DefaultSession
	}
	p := &prepared{start: s, prog: s.Program, workspace: e.cfg.Workspace}
	if err := e.compile(p); err != nil {
		return nil, err
	}
	if err := checkLabels(s.Labels); err != nil {
		return nil, err
	}
	p.auth = policy.Merge(e.cfg.Authority, s.Authority)
	var err error
	if p.bundle, err = p.prog.Bundle.Canonical(); err != nil {
		return nil, fmt.Errorf("pin bundle: %w", err)
	}
	return p, p.checkArgs()
}

func (e *Engine) compile(p *prepared) error {
	if p.prog != nil {
		return nil
	}
	src, err := workflow.Load("workflow", p.start.Workflow)
	if err == nil {
		p.prog, err = workflow.Compile(src, e.cfg.Catalog, e.toolSchemas)
	}
	if err != nil {
		return &Error{Code: CodeInvalidDefinition, Message: err.Error(), cause: err}
	}
	return nil
}

func (p *prepared) checkArgs() error {
	raw := p.start.Args
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	canonical, err := canon.Canonicalize(raw)
	if err != nil {
		return refuse(CodeInvalidInput, "the arguments are not JSON: %v", err)
	}
	if len(canonical) > maxArgs {
		return refuse(CodeTooLarge, "the arguments have %d bytes; at most %d are taken", len(canonical), maxArgs)
	}
	if p.args, err = canon.Decode(canonical); err != nil {
		return refuse(CodeInvalidInput, "the arguments are not JSON: %v", err)
	}
	if err := p.prog.Root.Input.Validate(p.args); err != nil {
		return &Error{Code: CodeInvalidInput, Message: "the arguments do not satisfy input_schema: " + err.Error(), cause: err}
	}
	p.rawArgs = canonical
	return nil
}

// preflight checks all that can be checked before anything is written.
func (e *Engine) preflight(p *prepared) error {
	if err := runnable(p.prog); err != nil {
		return err
	}
	if err := e.toolsPresent(p.prog); err != nil {
		return err
	}
	var refusal *Error
	if p.budget, refusal = e.budget(p.prog, p.start.Budget); refusal != nil {
		return refusal
	}
	if err := secretsAvailable(p.prog); err != nil {
		return err
	}
	if err := e.permitted(p.prog, p.auth); err != nil {
		trust, allow := e.needs(p.prog)
		return err.with("needs_trust", trust).with("needs_allow", allow)
	}
	return nil
}

// findKey looks for an earlier start under the same key.
func (e *Engine) findKey(ctx context.Context, p *prepared) error {
	request, err := canon.Marshal(map[string]any{
		"bundle": p.prog.Hash, "args": p.rawArgs, "budget": p.start.Budget,
		"session": p.start.SessionID, "labels": p.start.Labels, "authority": p.start.Authority,
	})
	if err != nil {
		return err
	}
	p.hash = canon.Hash(request)
	rec, err := e.store.Key(ctx, p.keyScope(), p.start.Key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return asError(err, "")
	}
	return p.matchKey(rec)
}

func (p *prepared) keyScope() string { return "start/" + p.start.SessionID }

func (p *prepared) matchKey(rec store.KeyRecord) error {
	if rec.Hash != p.hash {
		return refuse(CodeKeyConflict, "the key %q was used for another request, which started run %s", p.start.Key, rec.Stream).
			with("run_id", rec.Stream)
	}
	p.existing = rec.Stream
	return nil
}

// sameKey reports the run that took the key first, if by the same request.
func sameKey(err error, p *prepared) (string, bool) {
	var taken *store.KeyTakenError
	if !errors.As(err, &taken) || taken.Record.Hash != p.hash {
		return "", false
	}
	return taken.Record.Stream, true
}

func (p *prepared) refused(err error, runID string) error {
	var taken *store.KeyTakenError
	if errors.As(err, &taken) {
		return p.matchKey(taken.Record)
	}
	return asError(err, runID)
}

// create makes the owner of a new run, with the first events in its batch.
func (e *Engine) create(p *prepared) (*owner, error) {
	id, err := newRunID()
	if err != nil {
		return nil, err
	}
	o := e.newOwner(id, p.prog, kernel.New(p.prog))
	o.create = true
	o.mailAt = e.cfg.Clock.Now() // nobody can have posted to it yet
	created := e.now()
	q := &run.Queued{
		RootRunID: id, SessionID: p.start.SessionID,
		Definition: run.DefinitionRef{ID: p.prog.Root.Def.ID, Revision: p.prog.Root.Def.Revision},
		BundleHash: p.prog.Hash, Budget: p.budget, Authority: p.auth, Tools: e.pins(p.prog),
		Workspace: p.workspace, RestartedFrom: p.restartedFrom, Labels: p.start.Labels,
		Semantics: run.Semantics, CreatedAt: created,
	}
	q.Bundle, q.BundleBlob = o.holdRaw(p.bundle)
	q.Args, q.ArgsBlob = o.hold(p.args, p.rawArgs)
	if p.takeover != nil {
		q.RestartedAtStep = p.takeover.at
	}
	if err := o.emit("", q); err != nil {
		return nil, err
	}
	if p.takeover != nil {
		if err := o.adopt(p.takeover); err != nil {
			return nil, err
		}
	}
	if err := o.emit("", &run.Started{By: e.cfg.By, Authority: p.auth}); err != nil {
		return nil, err
	}
	o.batch.extra.Spends = append(o.batch.extra.Spends, store.Spend{Account: id, Limits: accountLimits(p.budget)})
	if p.start.Key != "" {
		o.batch.extra.Keys = append(o.batch.extra.Keys, store.KeyRecord{
			Scope: p.keyScope(), Key: p.start.Key, Hash: p.hash, Stream: id, At: created,
		})
	}
	return o, nil
}

func accountLimits(b run.Budget) map[string]int64 {
	limits := map[string]int64{"steps": b.MaxSteps, "retries": b.MaxRetries, "agents": b.MaxAgents}
	if b.MaxTokens != nil {
		limits["tokens"] = *b.MaxTokens
	}
	if b.MaxCostMicros != nil {
		limits["cost_micros"] = *b.MaxCostMicros
	}
	return limits
}

// launchNew commits a new run and begins to work on it.
func (e *Engine) launchNew(ctx context.Context, o *owner) (*run.View, error) {
	if !e.adopt(o) {
		return nil, refuse(CodeClosed, "the engine is closed")
	}
	if err := o.commit(ctx); err != nil {
		close(o.done)
		e.disown(o)
		return nil, err
	}
	view := e.ownView(o)
	e.working(+1)
	go o.serve()
	return view, nil
}

// launch lets an owner whose run is durably running work on it.
func (e *Engine) launch(o *owner) (*run.View, error) {
	view := e.ownView(o)
	o.nudged = true // whatever mail there is comes first
	if !e.adopt(o) {
		_ = o.giveBack()
		return nil, refuse(CodeClosed, "the engine is closed; run %s is suspended", o.id)
	}
	e.working(+1)
	go o.serve()
	return view, nil
}

// giveBack suspends a run that this owner was not allowed to work on after all.
func (o *owner) giveBack() error {
	if err := o.suspend(run.KindStopped, ""); err != nil {
		return err
	}
	return o.commit(context.Background())
}
