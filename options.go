package culm

import (
	"encoding/json"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// ProgressOptions say how much of a run is shown.
type ProgressOptions struct {
	// Values includes the definitions, arguments and outputs.
	Values bool
	// Session must be the run's; "" is DefaultSession, AnySession matches every one.
	Session string
}

// LogOptions say which part of a run's log is read, and for how long.
type LogOptions struct {
	// Session must be the run's; "" is DefaultSession, AnySession matches every one.
	Session string
	// After leaves out lines up to this number. Default: none.
	After uint64
	// Follow goes on with lines as they come, of any process's run, until nobody
	// works on the run any more.
	Follow bool
}

// ContinueOptions say how to go on with a run.
type ContinueOptions struct {
	// Session must be the run's; "" is DefaultSession, AnySession matches every one.
	Session string
	// Authority is added to what the run has.
	Authority run.Authority
	// Rerun lists effects whose in-doubt steps this call lets be entered again.
	Rerun []tool.Effect
	// Extend grants wall time: from now on, or beyond what is left. Default: none.
	Extend time.Duration
	// Takeover goes on with a run that was copied from another store: you say that
	// it will not go on there. It changes nothing for other runs.
	Takeover bool
}

// RestartOptions say how a run is started anew.
type RestartOptions struct {
	// Session must be the run's; "" is DefaultSession, AnySession matches every one.
	Session string
	// AcceptDoubt restarts although steps are in doubt: what they did may be
	// done again.
	AcceptDoubt bool
	// Authority is added to the old run's.
	Authority run.Authority
	// Labels are added to the old run's, and take the place of those of the same name.
	Labels map[string]string
	// From is a step instance, such as "x" or "x@root[2]": what finished before it
	// and beside it is taken over with its recorded outcome, and only the rest is
	// run. Default: "", everything is run again.
	From string
}

// CancelOptions say whose run is cancelled.
type CancelOptions struct {
	// Session must be the run's; "" is DefaultSession, AnySession matches every one.
	Session string
}

// Resolution is a verdict on a step in doubt.
type Resolution struct {
	// Session must be the run's; "" is DefaultSession, AnySession matches every one.
	Session string
	// Verdict is required.
	Verdict run.Verdict
	// Output is what the step returned, if it succeeded: JSON of at most 1 MiB,
	// checked as a result is; nil is null.
	Output json.RawMessage
	// Message says why, if it failed.
	Message string
	// Force decides although processes of the step may still be at work.
	Force bool
}
