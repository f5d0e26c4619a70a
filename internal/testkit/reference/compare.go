package reference

import (
	"fmt"
	"maps"
	"slices"
)

// Observed is what the engine came to, in this package's words. Values are decoded
// JSON as package canon makes it.
type Observed struct {
	Output  any
	Failure *Failure
	Steps   map[string]Status
}

// Differences says in what the engine's result is not this one. Messages of
// failures are for people and may differ, also where an output holds them.
func (r *Result) Differences(got Observed) []string {
	var all []string
	switch {
	case (r.Failure == nil) != (got.Failure == nil):
		all = append(all, fmt.Sprintf("failure: want %s, got %s", show(r.Failure), show(got.Failure)))
	case r.Failure != nil:
		if want, is := bare(*r.Failure), bare(*got.Failure); want != is {
			all = append(all, fmt.Sprintf("failure: want %+v, got %+v", *r.Failure, *got.Failure))
		}
	default:
		if want, is := text(strip(r.Output)), text(strip(got.Output)); want != is {
			all = append(all, fmt.Sprintf("output: want %s, got %s", want, is))
		}
	}
	return append(all, differences(r.Steps, got.Steps)...)
}

// Contradictions says what in the engine's result no order of events can explain.
// For a result that did not race these are the differences. For one that did, steps
// that succeeded before anything stood side by side with what raced must have done
// so, and every step must have ended.
func (r *Result) Contradictions(got Observed) []string {
	if !r.Raced {
		return r.Differences(got)
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(r.certain)) {
		if got.Steps[id] != r.certain[id] {
			all = append(all, fmt.Sprintf("step %s: want %s, got %q", id, r.certain[id], got.Steps[id]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got.Steps)) {
		switch got.Steps[id] {
		case Succeeded, Failed, Cancelled, Skipped:
		default:
			all = append(all, fmt.Sprintf("step %s: %q is no end", id, got.Steps[id]))
		}
	}
	return all
}

func differences(want, got map[string]Status) []string {
	var all []string
	names := maps.Clone(want)
	if names == nil {
		names = make(map[string]Status)
	}
	maps.Copy(names, got)
	for _, id := range slices.Sorted(maps.Keys(names)) {
		if want[id] != got[id] {
			all = append(all, fmt.Sprintf("step %s: want %q, got %q", id, want[id], got[id]))
		}
	}
	return all
}

func show(f *Failure) string {
	if f == nil {
		return "none"
	}
	return fmt.Sprintf("%s (%s)", f.Code, f.Message)
}

func bare(f Failure) Failure {
	f.Message = ""
	return f
}

// strip empties the messages of failures in a value.
func strip(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, part := range v {
			list[i] = strip(part)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, part := range v {
			object[name] = strip(part)
		}
		_, code := v["code"].(string)
		_, retryable := v["retryable"].(bool)
		if code && retryable {
			object["message"] = ""
		}
		return object
	}
	return v
}
