package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Error is a refusal or failure of a call, with a stable code. Nothing was
// changed by the call that returned it, unless its code is storage or internal.
type Error struct {
	Code    string
	Message string
	// Details are machine-readable, such as {"steps": ["pay"]}.
	Details map[string]any
	// Hint says how to mend it; may be "".
	Hint  string
	cause error
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap gives the underlying error, if there is one.
func (e *Error) Unwrap() error { return e.cause }

// Is matches another *Error of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// The codes of refusals. Continue reports the first that applies, in this order.
const (
	CodeNotFound          = "not_found"
	CodeDamaged           = "damaged"
	CodeNewerFormat       = "newer_format"
	CodeNotRoot           = "not_root"
	CodeOwnedElsewhere    = "owned_elsewhere"
	CodeTerminal          = "terminal"
	CodeNotSuspended      = "not_suspended"
	CodeCopied            = "copied"
	CodeBundleMismatch    = "bundle_mismatch"
	CodeToolMissing       = "tool_missing"
	CodeAgentChanged      = "agent_changed"
	CodeInputMismatch     = "input_mismatch"
	CodeOutputInvalid     = "output_invalid"
	CodeWaiting           = "waiting"
	CodeStepInDoubt       = "step_in_doubt"
	CodeStillRunning      = "still_running"
	CodeDeadlinePassed    = "deadline_passed"
	CodeBudgetExhausted   = "budget_exhausted"
	CodeCeilingExceeded   = "ceiling_exceeded"
	CodeSecretUnavailable = "secret_unavailable"
	CodePolicyDenied      = "policy_denied"
	CodeCheckpointChanged = "checkpoint_changed"

	CodeAlreadyDecided    = "already_decided"
	CodeNotRunning        = "not_running"
	CodeNotInDoubt        = "not_in_doubt"
	CodeStepNotFound      = "step_not_found"
	CodeStepNotReached    = "step_not_reached"
	CodeInvalidDefinition = "invalid_definition"
	CodeInvalidInput      = "invalid_input"
	CodeInvalidLabel      = "invalid_label"
	CodeInvalidOutput     = "invalid_output"
	CodeKeyConflict       = "key_conflict"
	CodeUnsupportedStep   = "unsupported_step"
	CodeAmbiguous         = "ambiguous"
	CodeTooLarge          = "too_large"
	CodeDiverged          = "diverged"
	CodeNoHousekeeping    = "no_housekeeping"
	CodeClosed            = "closed"
	CodeStorage           = "storage"
	CodeInternal          = "internal"
)

func refuse(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// reason is why a run is damaged or unreadable, without naming the run again.
func (e *Error) reason() string {
	if r, ok := e.Details["reason"].(string); ok {
		return r
	}
	return e.Message
}

func (e *Error) with(key string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any)
	}
	e.Details[key] = value
	return e
}

func (e *Error) hint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// asError gives any error of a store or of this package its code.
func asError(err error, runID string) error {
	var typed *Error
	var damaged *store.DamagedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return typed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &damaged):
		return &Error{Code: CodeDamaged, Message: damaged.Error(), cause: err}
	case errors.Is(err, store.ErrNotFound):
		return &Error{Code: CodeNotFound, Message: "there is no run " + runID, cause: err}
	case errors.Is(err, store.ErrNewerFormat), errors.Is(err, run.ErrNewerFormat):
		return &Error{Code: CodeNewerFormat, Message: err.Error(), Hint: "use the version that wrote it, or a newer one", cause: err}
	case errors.Is(err, store.ErrOwned), errors.Is(err, store.ErrNotOwner), errors.Is(err, store.ErrConflict):
		return &Error{Code: CodeOwnedElsewhere, Message: "another process works on run " + runID, cause: err}
	case errors.Is(err, store.ErrClosed):
		return &Error{Code: CodeClosed, Message: "the engine is closed", cause: err}
	default:
		return &Error{Code: CodeStorage, Message: err.Error(), cause: err}
	}
}
