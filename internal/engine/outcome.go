package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Limits on values, in bytes of canonical JSON.
const (
	maxOutput = 64 << 20
	maxArgs   = 8 << 20
	maxAnswer = 1 << 20
)

// settleCall turns what a call came to into the step's event.
func (o *owner) settleCall(out outcome) error {
	c := out.call
	delete(o.calls, c.req.StepID)
	c.cancel(nil)
	o.batch.replay = append(o.batch.replay, out)
	if out.err != nil || out.abandoned {
		return o.emit(c.req.StepID, c.failed(out))
	}
	body, err := o.completed(c, out.res)
	if err != nil {
		return err
	}
	return o.emit(c.req.StepID, body)
}

// failed is the table of what a call without a result means. It is the one place
// where a write whose outcome is unknown becomes a doubt. So does any call that
// was cut short because its owner gave the run up: that ends no step.
func (c *call) failed(out outcome) run.Body {
	if out.abandoned {
		out.err = errors.New("it ignored that it was cancelled, and is still running")
	}
	var definite *tool.Failure
	if !out.abandoned && errors.As(out.err, &definite) {
		return &run.StepFailed{Failure: toolFailure(definite)}
	}
	if c.effect == tool.Write || errors.Is(c.cause(), errGivenUp) {
		return &run.StepSuspended{Reason: reasonUnknown, InDoubt: true, Message: out.err.Error()}
	}
	switch cause := c.cause(); {
	case errors.Is(cause, errTimeout):
		return &run.StepFailed{Failure: run.Failure{
			Code: run.TimedOut, Retryable: true,
			Message: fmt.Sprintf("the attempt took longer than %s", c.timeout),
		}}
	case errors.Is(cause, errCancelled):
		return &run.StepCancelled{}
	}
	return &run.StepFailed{Failure: run.Failure{Code: run.ExecutionFailed, Message: out.err.Error()}}
}

// toolFailure keeps the failure codes of runs, and puts a tool's own in the message.
func toolFailure(f *tool.Failure) run.Failure {
	code := run.Code(f.Code)
	switch code {
	case run.ExecutionFailed, run.InvalidInput, run.InvalidOutput, run.PermissionDenied, run.TimedOut, run.Rejected:
		return run.Failure{Code: code, Message: f.Message, Retryable: f.Retryable}
	}
	return run.Failure{Code: run.ExecutionFailed, Message: f.Code + ": " + f.Message, Retryable: f.Retryable}
}

// completed checks a call's result. What is rejected now was done all the same.
func (o *owner) completed(c *call, res tool.Result) (run.Body, error) {
	raw, decoded, err := o.e.checkResult(c.step, res)
	if err != nil {
		rejected := &run.StepFailed{Failure: run.Failure{Code: run.InvalidOutput, Message: err.Error(), EffectDone: true}}
		if evidence, cerr := canon.Canonicalize(res.Output); cerr == nil && len(evidence) <= maxOutput {
			rejected.Evidence, rejected.EvidenceBlob = o.holdRaw(evidence)
		}
		return rejected, nil
	}
	body := &run.StepCompleted{}
	body.Output, body.OutputBlob = o.hold(decoded, raw)
	return body, nil
}

// checkResult makes a result canonical and checks it against its schema: the
// step's, or else the tool's own.
func (e *Engine) checkResult(step *workflow.StepInfo, res tool.Result) (run.Raw, any, error) {
	output := res.Output
	if output == nil {
		output = json.RawMessage("null")
	}
	if len(output) > maxOutput {
		return nil, nil, fmt.Errorf("the output has %d bytes; at most %d are kept", len(output), maxOutput)
	}
	raw, err := canon.Canonicalize(output)
	if err != nil {
		return nil, nil, fmt.Errorf("the output is not JSON: %w", err)
	}
	decoded, err := canon.Decode(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the output is not JSON: %w", err)
	}
	if step.Output == nil {
		if err := e.tools.CheckOutput(step.Def.Tool, raw); err != nil {
			return nil, nil, fmt.Errorf("the output is not what tool %s promises: %w", step.Def.Tool, err)
		}
		return raw, decoded, nil
	}
	if text, isText := decoded.(string); isText && res.Text {
		if doc, derr := canon.Canonicalize([]byte(text)); derr == nil { // a text that is one JSON document counts as that value
			raw = doc
			if decoded, err = canon.Decode(doc); err != nil {
				return nil, nil, fmt.Errorf("the output is not JSON: %w", err)
			}
		}
	}
	if err := step.Output.Validate(decoded); err != nil {
		return nil, nil, fmt.Errorf("the output does not satisfy output_schema: %w", err)
	}
	return raw, decoded, nil
}
