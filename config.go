package culm

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Config says how an engine works. The zero value is usable: no tools.
type Config struct {
	// Tools are what steps may call. Names must differ. Default: none.
	Tools []tool.Tool
	// Catalog finds nested definitions of workflows given as source. Default: it
	// finds none.
	Catalog workflow.Catalog
	// Workspace is the absolute path of the folder that runs started here may
	// touch. Default: none, and tools that need one fail.
	Workspace string
	// Authority holds for every run started or continued by this engine.
	// Default: tools of effect read, and no others.
	Authority run.Authority
	// Ceilings bound every definition. Default: workflow.DefaultCeilings.
	Ceilings *workflow.Budgets
	// Rerun lists the effects whose in-doubt steps every Continue may enter
	// again. Default: none.
	Rerun []tool.Effect
	// LockDir is a folder for locks that say that a step's processes still live.
	// Default: none, and only this process's own calls are known.
	LockDir string
	// Grace is how long a cancelled call may take to return before it is
	// abandoned. Default: 10 s.
	Grace time.Duration
	// By says who acts, in the journal. Default: "local".
	By string
	// Logger is told what people operating Culm should know. Default: discarded.
	Logger *slog.Logger
	// Progress is told what running tools say about themselves, and the latest line
	// of what they print. It must not block and may be called from any goroutine.
	// Default: nobody is told.
	Progress func(ProgressLine)
	// Logs keeps what tools print while they run, for [Engine.Logs]. Default: it is
	// not kept; local.Open keeps it beside the store.
	Logs Logs
	// Clock is the engine's time. Default: the system's. Package culmtest has one
	// that a test lets pass.
	Clock Clock
	// CloseStore lets the engine close its store: when it is closed, and when it
	// cannot be opened. Default: the store stays the caller's.
	CloseStore bool
}

// Clock is an engine's time: what events record, and when what was waited for is
// due. It is safe for concurrent use.
type Clock interface {
	// Now is the present time. The difference of two of them is how long it took.
	Now() time.Time
	// AfterFunc calls f once d has passed, on a goroutine of the clock's choice; f
	// returns soon. stop reports whether it came before f was called.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// Logs keeps what tools print while they run, so that people can read along, also
// from other processes. It is no part of the journal: nothing depends on it, and
// after a crash it holds what was written by then. It is safe for concurrent use.
type Logs interface {
	// Append adds lines to a root run's log, in this order, and numbers them. It
	// returns when others can read them, or when they are given up: it has no error
	// to report to a run. It may take its time, since no step waits for it; what is
	// printed meanwhile is left out where it becomes too much. The lines are the
	// caller's again when it returns.
	Append(runID string, lines []run.LogLine)
	// Release frees what is held in memory for a run. More may be appended later.
	Release(runID string)
	// Remove deletes a run's log. That there is none is no error.
	Remove(runID string) error
	// Read gives the lines that are kept, oldest first; none if there is no log.
	// Then, each time more delivers, those that came since, without repeating any.
	// It ends at the present end if more is nil or after a last look when more is
	// closed; or with the error of ctx.
	Read(ctx context.Context, runID string, more <-chan struct{}) iter.Seq2[run.LogLine, error]
}

// ProgressLine is what a running tool says about itself, or prints.
type ProgressLine struct {
	RunID, StepID, Line string
	// Stream is where it was printed; "" if the tool said it about itself.
	Stream tool.Stream
}

// engine is the configuration in the engine's words.
func (c Config) engine() engine.Config {
	e := engine.Config{
		Tools: c.Tools, Catalog: c.Catalog, Workspace: c.Workspace, Authority: c.Authority,
		Ceilings: c.Ceilings, Rerun: c.Rerun, LockDir: c.LockDir, Grace: c.Grace, By: c.By,
		Logger: c.Logger, Logs: c.Logs, Clock: c.Clock, CloseStore: c.CloseStore,
	}
	if c.Progress != nil {
		e.Progress = func(line engine.ProgressLine) { c.Progress(ProgressLine(line)) }
	}
	return e
}
