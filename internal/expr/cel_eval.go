package expr

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

func (r *Ref) evalCEL(env Env) (any, error) {
	if r.program == nil {
		return nil, r.fail(CodeExpressionFailed, "the expression has not been compiled")
	}
	a := &activation{env: env, program: r.program, seen: map[useKey]ref.Val{}}
	result, _, err := r.program.run.Eval(a)
	if a.err != nil {
		return nil, a.err
	}
	if err != nil {
		return nil, &Error{Code: CodeExpressionFailed, At: r.At + "/cel", Message: r.program.explain(err)}
	}
	value, err := fromCEL(result, "")
	if err != nil {
		return nil, &Error{Code: CodeExpressionFailed, At: r.At + "/cel", Message: err.Error()}
	}
	return value, nil
}

// explain says what went wrong at run time, and where in the expression.
func (p *program) explain(err error) string {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return fmt.Sprintf("the expression needs more than %d units of work", CostLimit)
	}
	message := strings.TrimPrefix(err.Error(), "ERROR: ")
	var failed *types.Err
	if !errors.As(err, &failed) || failed.NodeID() == 0 {
		return message
	}
	line, column := p.place(failed.NodeID())
	return fmt.Sprintf("%d:%d: %s, in: %s", line, column, message, p.lineOf(line))
}

// lineOf is the line of the source, for a message.
func (p *program) lineOf(line int) string {
	lines := strings.Split(p.source, "\n")
	if line < 1 || line > len(lines) {
		return p.source
	}
	return strings.TrimSpace(lines[line-1])
}

// activation gives an expression its variables, each asked for when it is read
// and once. It belongs to one evaluation.
type activation struct {
	env     Env
	program *program
	seen    map[useKey]ref.Val
	err     error // the environment could not be read
}

type useKey struct {
	kind Kind
	name string
}

// ResolveName implements cel.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case argsVar:
		return a.read(useKey{kind: Args}, a.program.args)
	case runVar:
		return a.read(useKey{kind: Run}, a.program.facts)
	case outcomeVar:
		return a.read(useKey{kind: Outcome}, a.program.outcome)
	case stepsVar:
		return newMembers(func(name string) (ref.Val, bool) {
			return a.read(useKey{Step, name}, a.program.steps[name])
		}), true
	case itemVar:
		return newMembers(func(name string) (ref.Val, bool) {
			return a.read(useKey{Item, name}, a.program.items[name])
		}), true
	}
	return nil, false
}

// Parent implements cel.Activation.
func (a *activation) Parent() cel.Activation { return nil }

// read gives a value and remembers it. An environment that fails makes the
// evaluation fail, whatever the expression does with the error.
func (a *activation) read(key useKey, s *shape) (ref.Val, bool) {
	if v, ok := a.seen[key]; ok {
		return v, true
	}
	r := Ref{Kind: key.kind, Name: key.name}
	value, ok, err := r.source(a.env)
	if err != nil {
		if a.err == nil {
			a.err = fmt.Errorf("read %s: %w", r.subject(), err)
		}
		return types.WrapErr(err), true
	}
	if !ok {
		return nil, false
	}
	if s == nil {
		s = dynamic()
	}
	v := s.value(value)
	a.seen[key] = v
	return v, true
}
