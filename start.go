package culm

import (
	"encoding/json"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// Sessions.
const (
	// DefaultSession is the session of runs that name none.
	DefaultSession = "local"
	// AnySession in an option matches every session: for operators.
	AnySession = "*"
)

// Start says what to run. Either Program or Workflow is needed.
type Start struct {
	// Program is the compiled definition. Or:
	Program *workflow.Program
	// Workflow is a definition as YAML or JSON; nested ones come from
	// Config.Catalog. Ignored when Program is set.
	Workflow []byte
	// Args are the arguments, JSON of at most 8 MiB; nil is {}.
	Args json.RawMessage
	// Budget tightens the definition's budget; nil leaves it.
	Budget *workflow.Budgets
	// SessionID groups runs; "" is DefaultSession. Who does not know it cannot
	// use its runs.
	SessionID string
	// Key makes the start idempotent within its session: the same request under
	// the same key gives the same run, another is refused with CodeKeyConflict.
	// "" starts a new run each time.
	Key string
	// Labels are what listings can be filtered by: at most 32, named by at most 63
	// of a-z, 0-9 and ._/- that begin with a letter or digit, with values of at
	// most 256 bytes without control characters. nil is none.
	Labels map[string]string
	// Authority is added to the engine's own for this run.
	Authority run.Authority
}
