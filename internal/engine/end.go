package engine

import (
	"context"
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/expr"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/internal/schema"
	"github.com/culm-dev/culm/run"
)

// endBody is the event with which the run ends.
func (o *owner) endBody(ctx context.Context, end kernel.End) (run.Body, error) {
	switch end.Kind {
	case kernel.Cancelled:
		return &run.CancelledRun{}, nil
	case kernel.Failed:
		return &run.Failed{Failure: *end.Failure}, nil
	}
	raw, decoded, fl, err := o.result(ctx, o.prog.Root.Result, end.View, end.Output, o.prog.Root.Output)
	if err != nil {
		return nil, err
	}
	if fl != nil {
		return &run.Failed{Failure: *fl}, nil
	}
	body := &run.Succeeded{}
	body.Output, body.OutputBlob = o.hold(decoded, raw)
	return body, nil
}

// finished is the event with which a sleep or workflow step ends.
func (o *owner) finished(ctx context.Context, a kernel.Action) (run.Body, error) {
	nested := a.Step.Nested
	switch {
	case nested == nil && a.Result.Kind == kernel.Succeeded:
		if s := a.Step.Output; s != nil && s.Validate(nil) != nil {
			return &run.StepFailed{Failure: *invalidOutput("a sleep gives null, which output_schema does not allow")}, nil
		}
		body := &run.StepCompleted{}
		body.Output, body.OutputBlob = o.hold(nil, run.Raw("null"))
		return body, nil
	case a.Result.Kind == kernel.Cancelled:
		return &run.StepCancelled{}, nil
	case a.Result.Kind == kernel.Failed:
		return &run.StepFailed{Failure: *a.Result.Failure}, nil
	}
	raw, decoded, fl, err := o.result(ctx, nested.Result, a.Result.View, a.Result.Output, nested.Output, a.Step.Output)
	if err != nil {
		return nil, err
	}
	if fl != nil {
		failed := &run.StepFailed{Failure: *fl}
		if raw != nil {
			failed.Evidence, failed.EvidenceBlob = o.holdRaw(raw)
		}
		return failed, nil
	}
	body := &run.StepCompleted{}
	body.Output, body.OutputBlob = o.hold(decoded, raw)
	return body, nil
}

// result makes a run's or nested run's output: its template, or else what its
// plan gave, checked against schemas. Everything in it is done by now, so what
// is wrong with the output never makes it be done again.
func (o *owner) result(ctx context.Context, t *expr.Template, view kernel.View, val kernel.Val, schemas ...*schema.Schema) (run.Raw, any, *run.Failure, error) {
	var v any
	var err error
	if t != nil {
		var fl *run.Failure
		if v, fl, err = o.eval(t, o.env(ctx, view, "", 0)); fl != nil {
			fl.Message = "output: " + fl.Message
			fl.EffectDone = true
			return nil, nil, fl, nil
		}
	} else {
		v, err = o.vals.load(ctx, val)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	raw, err := canon.Encode(v)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(raw) > maxOutput {
		return nil, nil, invalidOutput("the output has %d bytes; at most %d are kept", len(raw), maxOutput), nil
	}
	for _, s := range schemas {
		if s == nil {
			continue
		}
		if err := s.Validate(v); err != nil {
			return raw, nil, invalidOutput("the output does not satisfy output_schema: %v", err), nil
		}
	}
	return raw, v, nil, nil
}

func invalidOutput(format string, args ...any) *run.Failure {
	return &run.Failure{Code: run.InvalidOutput, Message: fmt.Sprintf(format, args...), EffectDone: true}
}
