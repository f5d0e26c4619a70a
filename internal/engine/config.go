package engine

import (
	"log/slog"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Config says how an engine works. The zero value is usable: no tools.
type Config struct {
	// Tools are what steps may call. Names must differ.
	Tools []tool.Tool
	// Catalog finds nested definitions of workflows given as source; nil finds none.
	Catalog workflow.Catalog
	// Workspace is the absolute path of the folder that runs started here may
	// touch. "" means none: tools that need one fail.
	Workspace string
	// Authority holds for every run started or continued by this engine.
	// The default allows tools of effect read only.
	Authority run.Authority
	// Ceilings bound every definition; nil means workflow.DefaultCeilings.
	Ceilings *workflow.Budgets
	// Rerun lists the effects whose in-doubt steps every Continue may enter
	// again. Default: none.
	Rerun []tool.Effect
	// LockDir is a folder for locks that say that a step's processes still live.
	// "" means that only this process's own calls are known.
	LockDir string
	// Grace is how long a cancelled call may take to return before it is
	// abandoned. Default 10 s.
	Grace time.Duration
	// By says who acts, in the journal. Default "local".
	By string
	// Logger is told what people operating Culm should know. Default: discarded.
	Logger *slog.Logger
	// Progress, when not nil, is told what running tools say about themselves, and
	// the latest line of what they print. It must not block and may be called from
	// any goroutine.
	Progress func(ProgressLine)
	// Logs keeps what tools print while they run, for [Engine.Logs]. Default: it is
	// not kept.
	Logs Logs
	// Clock is the engine's time. Default: the system's. For tests.
	Clock Clock
	// CloseStore lets the engine close its store: when it is closed, and when it
	// cannot be opened. Default: the store stays the caller's.
	CloseStore bool
}

// ProgressLine is what a running tool says about itself, or prints.
type ProgressLine struct {
	RunID, StepID, Line string
	// Stream is where it was printed; "" if the tool said it about itself.
	Stream tool.Stream
}

func (c Config) withDefaults() Config {
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.By == "" {
		c.By = "local"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = system{}
	}
	if c.Ceilings == nil {
		c.Ceilings = workflow.DefaultCeilings()
	}
	return c
}
