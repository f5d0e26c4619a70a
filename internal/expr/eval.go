package expr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// Secrets is implemented by an [Env] that resolves secrets. With an Env that
// does not, a secret's handle fails with secret_unavailable.
type Secrets interface {
	// Secret gives the value to put in place of a handle, such as the secret
	// itself or the handle again; ok is false when nobody knows the secret.
	Secret(name string) (v any, ok bool, err error)
}

// Eval gives the template's value as decoded JSON, which shares memory with the
// template and with what env returned, and must not be changed. Only what the
// template refers to is asked of env. The error is an [*Error], or one that env
// returned, wrapped.
func (t *Template) Eval(env Env) (any, error) {
	switch {
	case t.literal:
		return t.value, nil
	case t.ref != nil:
		return t.ref.eval(env)
	case t.array != nil:
		return evalArray(t.array, env)
	}
	out := make(map[string]any, len(t.object))
	for _, name := range sortedNames(t.object) { // in order, so that the first error is always the same
		value, err := t.object[name].Eval(env)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

func evalArray(elements []*Template, env Env) (any, error) {
	out := make([]any, len(elements))
	for i, element := range elements {
		value, err := element.Eval(env)
		if err != nil {
			return nil, err
		}
		out[i] = value
	}
	return out, nil
}

func (r *Ref) eval(env Env) (any, error) {
	switch r.Kind {
	case Literal:
		return r.value, nil
	case Text:
		return r.join(env)
	case CEL:
		return r.evalCEL(env)
	case Secret:
		return r.resolve(env)
	}
	value, ok, err := r.source(env)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.subject(), err)
	}
	if ok {
		found, there, err := canon.Lookup(value, r.Pointer)
		if err != nil { // ParseTemplate has checked the pointer
			return nil, r.fail(CodeUnknownReference, err.Error())
		}
		if there {
			return found, nil
		}
	}
	switch {
	case r.Default != nil:
		return r.fallback, nil
	case !ok:
		return nil, r.fail(CodeUnknownReference, r.subject()+" has no value here")
	}
	return nil, r.fail(CodeUnknownReference, missing(r.subject(), value, r.Pointer))
}

// source asks for the value that the pointer points into.
func (r *Ref) source(env Env) (v any, ok bool, err error) {
	switch r.Kind {
	case Args:
		v, err = env.Args()
		return v, true, err
	case Step:
		return env.Step(r.Name)
	case Previous:
		return env.Previous(r.Name)
	case Item:
		return env.Item(r.Name)
	case Outcome:
		return env.Outcome()
	case Run:
		facts, err := env.Run()
		return facts, true, err
	}
	return nil, false, fmt.Errorf("a reference of kind %q", r.Kind)
}

// subject names what a reference reads, for messages.
func (r *Ref) subject() string {
	switch r.Kind {
	case Args:
		return "args"
	case Run:
		return "run"
	case Outcome:
		return "outcome"
	case Previous:
		return fmt.Sprintf("step %q of the previous round", r.Name)
	case Item:
		return fmt.Sprintf("item %q", r.Name)
	}
	return fmt.Sprintf("step %q", r.Name)
}

func (r *Ref) fail(code, message string) error {
	return &Error{Code: code, At: r.At, Message: message}
}

// join makes one string of a text's parts: strings as they are, everything else
// as canonical JSON.
func (r *Ref) join(env Env) (any, error) {
	var b strings.Builder
	for _, part := range r.Parts {
		value, err := part.Eval(env)
		if err != nil {
			return nil, err
		}
		if s, ok := value.(string); ok {
			b.WriteString(s)
			continue
		}
		raw, err := canon.Encode(value)
		if err != nil {
			return nil, fmt.Errorf("join text: %w", err)
		}
		b.Write(raw)
	}
	return b.String(), nil
}

func (r *Ref) resolve(env Env) (any, error) {
	secrets, ok := env.(Secrets)
	if !ok {
		return nil, r.fail(CodeSecretUnavailable, fmt.Sprintf("secret %q: secrets are not resolved here", r.Name))
	}
	value, ok, err := secrets.Secret(r.Name)
	if err != nil {
		return nil, fmt.Errorf("resolve secret %q: %w", r.Name, err)
	}
	if !ok {
		return nil, r.fail(CodeSecretUnavailable, fmt.Sprintf("there is no secret %q", r.Name))
	}
	return value, nil
}

// AsError finds the [*Error] that an evaluation failed with. Without one the
// failure is not the template's: the environment could not be read.
func AsError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}
