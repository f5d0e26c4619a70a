package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// longestSleep bounds sleeps: a hundred years.
const longestSleep = 100 * 365 * 24 * time.Hour

// enterSleep records when the sleep is over, once: a restart does not start the
// clock again.
func (o *owner) enterSleep(a kernel.Action, env *env) (*run.Failure, error) {
	t, name := a.Step.DurationMS, "duration_ms"
	if t == nil {
		t, name = a.Step.Until, "until"
	}
	v, fl, err := o.eval(t, env)
	if fl != nil || err != nil {
		return fl, err
	}
	deadline, fl := sleepDeadline(a.Step, v, o.e.now())
	if fl != nil {
		return fl, nil
	}
	raw, err := canon.Encode(map[string]any{name: v})
	if err != nil {
		return nil, err
	}
	err = o.emit(a.StepID, &run.StepStarted{
		Attempt: env.attempt, InputHash: canon.Hash(raw), Reservation: run.Amounts{"steps": 1},
		Cleanup: a.Cleanup,
	})
	if err != nil {
		return nil, err
	}
	return nil, o.emit(a.StepID, &run.WaitSet{Deadline: deadline})
}

func sleepDeadline(step *workflow.StepInfo, v any, now time.Time) (time.Time, *run.Failure) {
	if step.DurationMS == nil {
		text, _ := v.(string)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, invalidSleep("until: expected a time as RFC 3339 has it, such as 2030-01-31T09:00:00Z, got %v", v)
		}
		return at.UTC(), nil
	}
	number, _ := v.(json.Number)
	ms, err := number.Float64()
	if err != nil || ms < 0 || math.IsNaN(ms) {
		return time.Time{}, invalidSleep("duration_ms: expected milliseconds, 0 or more, got %v", v)
	}
	if ms > float64(longestSleep.Milliseconds()) {
		return time.Time{}, invalidSleep("duration_ms: %v is more than %d, a hundred years", v, longestSleep.Milliseconds())
	}
	return now.Add(time.Duration(ms * float64(time.Millisecond))), nil
}

func invalidSleep(format string, args ...any) *run.Failure {
	return &run.Failure{Code: run.InvalidInput, Message: fmt.Sprintf(format, args...)}
}
