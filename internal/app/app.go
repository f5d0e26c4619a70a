// Package app wires the engine of the command line: the adapters of one machine
// and the tools that ship with Culm.
package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/proc"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/builtin"
	"github.com/culm-dev/culm/tool/shell"
	"github.com/culm-dev/culm/workflow"
)

// Config says what to open and for whom.
type Config struct {
	Store     string // URL
	Workspace string // absolute path
	// Ceilings bound every definition; unset fields have the documented default.
	Ceilings workflow.Budgets
	// Rerun lists the effects whose steps in doubt any continue enters again.
	Rerun []tool.Effect
	// Executable is the program that guards tools' processes when its first
	// argument is [proc.GuardArg]; empty runs them without a guard.
	Executable string
	By         string // who acts, for the journal
	Logger     *slog.Logger
	Progress   func(culm.ProgressLine)
}

// Open opens the engine over the store that the URL names.
func Open(ctx context.Context, c Config) (*culm.Engine, error) {
	engine, err := local.Open(ctx, c.Store, culm.Config{
		Tools: Tools(c.Executable), Workspace: c.Workspace, Ceilings: ceilings(c.Ceilings), Rerun: c.Rerun,
		By: c.By, Logger: c.Logger, Progress: c.Progress,
	})
	if err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	return engine, nil
}

// ceilings are the documented defaults where nothing else was set.
func ceilings(set workflow.Budgets) *workflow.Budgets {
	c := workflow.DefaultCeilings()
	c.MaxConcurrency = cmp.Or(set.MaxConcurrency, c.MaxConcurrency)
	c.MaxAgents = cmp.Or(set.MaxAgents, c.MaxAgents)
	c.MaxSteps = cmp.Or(set.MaxSteps, c.MaxSteps)
	c.MaxRetries = cmp.Or(set.MaxRetries, c.MaxRetries)
	c.MaxNestingDepth = cmp.Or(set.MaxNestingDepth, c.MaxNestingDepth)
	c.WallTimeMS = cmp.Or(set.WallTimeMS, c.WallTimeMS)
	c.CleanupMS = cmp.Or(set.CleanupMS, c.CleanupMS)
	c.MaxTokens = cmp.Or(set.MaxTokens, c.MaxTokens)
	c.MaxCostMicros = cmp.Or(set.MaxCostMicros, c.MaxCostMicros)
	return c
}

// Tools are the tools that ship with Culm, their processes guarded by executable.
func Tools(executable string) []tool.Tool {
	var guard []string
	if executable != "" {
		guard = []string{executable, proc.GuardArg}
	}
	return builtin.Tools(builtin.Options{Shell: shell.Options{Guard: guard}})
}
