package culm

import "github.com/culm-dev/culm/internal/engine"

// Error is a refusal or failure of a call, with a stable code. Find it with
// errors.As. A call that was refused changed nothing.
type Error = engine.Error

// The codes of errors. Continue reports the first that applies of those up to
// CodePolicyDenied, in this order.
const (
	CodeNotFound          = engine.CodeNotFound
	CodeDamaged           = engine.CodeDamaged
	CodeNewerFormat       = engine.CodeNewerFormat
	CodeNotRoot           = engine.CodeNotRoot
	CodeOwnedElsewhere    = engine.CodeOwnedElsewhere
	CodeTerminal          = engine.CodeTerminal
	CodeNotSuspended      = engine.CodeNotSuspended
	CodeBundleMismatch    = engine.CodeBundleMismatch
	CodeToolMissing       = engine.CodeToolMissing
	CodeAgentChanged      = engine.CodeAgentChanged
	CodeInputMismatch     = engine.CodeInputMismatch
	CodeOutputInvalid     = engine.CodeOutputInvalid
	CodeWaiting           = engine.CodeWaiting
	CodeStepInDoubt       = engine.CodeStepInDoubt
	CodeStillRunning      = engine.CodeStillRunning
	CodeDeadlinePassed    = engine.CodeDeadlinePassed
	CodeBudgetExhausted   = engine.CodeBudgetExhausted
	CodeCeilingExceeded   = engine.CodeCeilingExceeded
	CodeSecretUnavailable = engine.CodeSecretUnavailable
	CodePolicyDenied      = engine.CodePolicyDenied
	CodeCheckpointChanged = engine.CodeCheckpointChanged

	CodeAlreadyDecided    = engine.CodeAlreadyDecided
	CodeNotRunning        = engine.CodeNotRunning
	CodeNotInDoubt        = engine.CodeNotInDoubt
	CodeStepNotFound      = engine.CodeStepNotFound
	CodeInvalidDefinition = engine.CodeInvalidDefinition
	CodeInvalidInput      = engine.CodeInvalidInput
	CodeInvalidOutput     = engine.CodeInvalidOutput
	CodeKeyConflict       = engine.CodeKeyConflict
	CodeUnsupportedStep   = engine.CodeUnsupportedStep
	CodeAmbiguous         = engine.CodeAmbiguous
	CodeTooLarge          = engine.CodeTooLarge
	CodeClosed            = engine.CodeClosed
	CodeStorage           = engine.CodeStorage
	CodeInternal          = engine.CodeInternal
)
