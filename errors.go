package culm

import (
	"errors"

	"github.com/culm-dev/culm/internal/engine"
)

// Error is a refusal or failure of a call, with a stable code. Find it with
// errors.As; errors.Is with an *Error compares the codes. Nothing was changed by
// the call that returned it, unless its code is CodeStorage or CodeInternal.
type Error struct {
	// Code is one of the constants, or of the package that made the error.
	Code string
	// Message is for people.
	Message string
	// Details are for programs, such as {"steps": ["pay"]}; may be nil.
	Details map[string]any
	// Hint says how to mend it; may be "".
	Hint  string
	cause error
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap gives the underlying error, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// Is matches another *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// asError makes an engine's refusal one of this package.
func asError(err error) error {
	var refused *engine.Error
	if !errors.As(err, &refused) {
		return err
	}
	return &Error{
		Code: refused.Code, Message: refused.Message, Details: refused.Details, Hint: refused.Hint,
		cause: refused.Unwrap(),
	}
}

// The codes of refusals to continue a run, in the order in which they are looked
// for: the first that applies is reported.
const (
	CodeNotFound          = "not_found"          // there is no such run in that session
	CodeDamaged           = "damaged"            // what is stored of the run does not verify
	CodeNewerFormat       = "newer_format"       // a newer version wrote it
	CodeNotRoot           = "not_root"           // the run is nested in another: act on that one
	CodeOwnedElsewhere    = "owned_elsewhere"    // a living process works on it, or took it up meanwhile
	CodeTerminal          = "terminal"           // the run has ended, and never changes again
	CodeNotSuspended      = "not_suspended"      // its owner is gone, and it was not recovered yet
	CodeCopied            = "copied"             // it was copied from another store, and nobody took it over
	CodeBundleMismatch    = "bundle_mismatch"    // the pinned definition does not compile, or has another hash
	CodeToolMissing       = "tool_missing"       // a tool that the run calls is not there
	CodeAgentChanged      = "agent_changed"      // not used by this version
	CodeInputMismatch     = "input_mismatch"     // the input of an open step is no longer what was recorded
	CodeOutputInvalid     = "output_invalid"     // a recorded output does not satisfy its step's schema
	CodeWaiting           = "waiting"            // not used by this version
	CodeStepInDoubt       = "step_in_doubt"      // nobody knows whether a call happened: resolve it
	CodeStillRunning      = "still_running"      // what was called then is still at work
	CodeDeadlinePassed    = "deadline_passed"    // the run's wall time is over
	CodeBudgetExhausted   = "budget_exhausted"   // the run has entered all the steps that it may
	CodeCeilingExceeded   = "ceiling_exceeded"   // a budget is above Config.Ceilings
	CodeSecretUnavailable = "secret_unavailable" // a secret cannot be resolved
	CodePolicyDenied      = "policy_denied"      // the authority does not reach for what it would do
	CodeCheckpointChanged = "checkpoint_changed" // not used by this version
)

// The codes of other refusals and failures.
const (
	CodeAlreadyDecided    = "already_decided"    // somebody decided otherwise, or before
	CodeNotRunning        = "not_running"        // there is nothing to recover
	CodeNotInDoubt        = "not_in_doubt"       // there is nothing to resolve
	CodeStepNotFound      = "step_not_found"     // the run has not entered such a step, or its plan has none
	CodeStepNotReached    = "step_not_reached"   // a run cannot begin at that step
	CodeInvalidDefinition = "invalid_definition" // the cause is workflow.Errors
	CodeInvalidInput      = "invalid_input"      // arguments, or a verdict, are not what is asked for
	CodeInvalidLabel      = "invalid_label"      // a label's name or value is not as it must be
	CodeInvalidOutput     = "invalid_output"     // a verdict's output does not satisfy the step's schema
	CodeKeyConflict       = "key_conflict"       // the key was used for another request
	CodeUnsupportedStep   = "unsupported_step"   // this version cannot run steps of that type
	CodeAmbiguous         = "ambiguous"          // several runs begin or end so, or several instances of a step
	CodeTooLarge          = "too_large"          // a value is larger than may be given
	CodeDiverged          = "diverged"           // another history is there under this id
	CodeNoHousekeeping    = "no_housekeeping"    // this store cannot export, import, or be collected
	CodeClosed            = "closed"             // the engine was closed
	CodeStorage           = "storage"            // the store failed
	CodeInternal          = "internal"           // Culm itself is broken
)
