package culm

import (
	"context"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/store"
)

// Engine runs workflows over one store. Its methods are safe for concurrent use.
type Engine = engine.Engine

// Open makes an engine over a store. The store stays the caller's to close, after
// the engine was closed. Opening writes nothing and recovers nothing.
func Open(ctx context.Context, st store.Store, cfg Config) (*Engine, error) {
	return engine.Open(ctx, st, cfg)
}

// What calls take and give.
type (
	// Config says how an engine works; the zero value is usable.
	Config = engine.Config
	// Start says what to run.
	Start = engine.Start
	// ProgressOptions say how much of a run is shown.
	ProgressOptions = engine.ProgressOptions
	// ContinueOptions say how to go on with a run.
	ContinueOptions = engine.ContinueOptions
	// RestartOptions say how a run is started anew.
	RestartOptions = engine.RestartOptions
	// CancelOptions say whose run is cancelled.
	CancelOptions = engine.CancelOptions
	// Resolution is a verdict on a step in doubt.
	Resolution = engine.Resolution
	// Receipt says what became of something that was recorded for a run.
	Receipt = engine.Receipt
	// Recovered is one run that Recover found without a living owner.
	Recovered = engine.Recovered
	// Summary is a run in a listing.
	Summary = engine.Summary
	// Page is one page of a listing.
	Page = engine.Page
	// ProgressLine is what a running tool says about itself.
	ProgressLine = engine.ProgressLine
)

// Sessions.
const (
	// DefaultSession is the session of runs that name none.
	DefaultSession = engine.DefaultSession
	// AnySession in an option matches every session: for operators.
	AnySession = engine.AnySession
)
