//go:build unix

package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/testkit/crashpoint"
	"github.com/culm-dev/culm/internal/testkit/effectlog"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/tool"
)

// tools are those of a helper process: first and second mark that they were called,
// each time with another token; the others work as random definitions want it.
func (w *worker) tools() []tool.Tool {
	return []tool.Tool{
		w.marker("first"), w.marker("second"),
		&labour{w, randdef.ToolName, "", false},
		&labour{w, "work_read", tool.Read, false},
		&labour{w, "work_idempotent", tool.Idempotent, false},
		&labour{w, "work_write", tool.Write, false},
		&labour{w, "work_vague", tool.Write, true},
	}
}

type markArgs struct {
	Word string `json:"word"`
}

// mark is what a marker returns, and what it writes into the log of effects.
type mark struct {
	Word  string `json:"word"`
	Token string `json:"token"`
}

func (w *worker) marker(name string) tool.Tool {
	return tool.MustFunc(name, "Marks that it was called.", tool.Write, func(_ context.Context, c tool.Call, in markArgs) (mark, error) {
		<-w.begun
		out := mark{Word: in.Word, Token: uuid.NewString()}
		if err := w.effect(c, out); err != nil {
			return mark{}, err
		}
		if w.task.Die == crashpoint.InTool && w.task.Step == c.StepID {
			crashpoint.Die(crashpoint.InTool)
		}
		return out, nil
	})
}

// effect writes into the log that a call had its effect, and what it returns.
func (w *worker) effect(c tool.Call, output any) error {
	what, err := json.Marshal(output)
	if err != nil {
		return err
	}
	return effectlog.Append(w.task.Effects, effectlog.Line{
		Run: c.RunID, Step: c.StepID, Attempt: c.Attempt, Key: c.IdempotencyKey, What: string(what), At: time.Now(),
	})
}

// happened looks in the log for the effect of an attempt, and gives what it returned.
func (w *worker) happened(run, step string, attempt int) (output json.RawMessage, yes bool, err error) {
	all, err := effectlog.Read(w.task.Effects)
	for _, l := range all {
		if l.Run == run && l.Step == step && l.Attempt == attempt {
			return json.RawMessage(l.What), true, err
		}
	}
	return nil, false, err
}

// labour works as random definitions want it, with an effect, and takes a moment
// before it and after it.
type labour struct {
	w      *worker
	name   string
	effect tool.Effect // "" for one that depends on the arguments
	// vague tools return an error that says nothing, after their effect.
	vague bool
}

// Spec implements tool.Tool.
func (l *labour) Spec() tool.Spec {
	effect := l.effect
	if effect == "" {
		effect = tool.Write
	}
	return tool.Spec{
		Name: l.name, Description: "Does as its arguments say.", Effect: effect,
		Input:  json.RawMessage(`{"type":"object"}`),
		Output: json.RawMessage(`{"type":"object","properties":{"list":{"type":"array"},"n":{"type":"integer"},"tag":{"type":"string"},"v":{},"yes":{"type":"boolean"}},"required":["list","n","tag","v","yes"]}`),
	}
}

// EffectOf implements tool.EffectOf: steps of random definitions differ in their tags.
func (l *labour) EffectOf(args json.RawMessage) tool.Effect {
	if l.effect != "" {
		return l.effect
	}
	var in struct {
		Tag string `json:"tag"`
	}
	if json.Unmarshal(args, &in) != nil || in.Tag == "" {
		return tool.Write
	}
	switch in.Tag[len(in.Tag)-1] % 4 {
	case 0:
		return tool.Read
	case 1:
		return tool.Idempotent
	}
	return tool.Write
}

// Call implements tool.Tool.
func (l *labour) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	args, err := canon.Decode(c.Args)
	if err != nil {
		return tool.Result{}, err
	}
	failures, err := l.w.failures(ctx, c.RunID, c.StepID)
	if err != nil {
		return tool.Result{}, err
	}
	moment()
	out, failure := randdef.Behave(reference.Call{Step: c.StepID, Tool: l.name, Args: args, Failures: failures})
	if failure != nil {
		return tool.Result{}, tool.Failed(failure.Code, failure.Retryable, failure.Message)
	}
	if err := l.w.effect(c, out); err != nil {
		return tool.Result{}, err
	}
	if l.vague {
		return tool.Result{}, fmt.Errorf("%s lost its connection", c.StepID)
	}
	moment()
	return tool.JSON(out)
}

// moment is how long work takes.
func moment() { time.Sleep(rand.N(3 * time.Millisecond)) }

// failures is how often a step has failed as far as is durably known.
func (w *worker) failures(ctx context.Context, id, step string) (int, error) {
	groups, err := w.store.Read(ctx, id, 0, 64<<20)
	n := 0
	for _, g := range groups {
		n += randdef.Failures(g.Events, step)
	}
	return n, err
}
