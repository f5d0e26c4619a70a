// Package policy decides what a run may do. It is pure: the operator's authority
// comes in, a decision comes out. It is asked before anything is written, for
// everything that a run's definitions may call, and again at each dispatch.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// Request is what a step wants to do.
type Request struct {
	Tool string
	// Effect is the effect of the call, or the worst that it may have.
	Effect tool.Effect
	// Capability is the tool's own.
	Capability string
	// Declared are the capabilities that the step declares beside it.
	Declared []string
}

// Denial says why a request is not allowed, and what would allow it.
type Denial struct {
	Code    run.Code // permission_denied or untrusted_workspace
	Message string
	Missing []string // capabilities
	Trust   bool     // whether trust is missing
}

func (d *Denial) Error() string { return d.Message }

// Hint is what to type, in the command line's words.
func (d *Denial) Hint() string {
	var flags []string
	if d.Trust {
		flags = append(flags, "--trust")
	}
	if len(d.Missing) > 0 {
		flags = append(flags, "--allow "+strings.Join(d.Missing, ","))
	}
	return "allow it with " + strings.Join(flags, " ")
}

// Check applies the default policy: reading is allowed; anything else needs a
// trusted workspace and each of its capabilities. It returns nil if r is allowed.
func Check(a run.Authority, r Request) *Denial {
	needed := Needed(r)
	harmless := r.Effect == tool.Read && !slices.ContainsFunc(needed, func(c string) bool { return c != tool.CapRead })
	if harmless {
		return nil
	}
	d := &Denial{Trust: !a.Trusted}
	for _, c := range needed {
		if c != tool.CapRead && !slices.Contains(a.Allow, c) && !slices.Contains(d.Missing, c) {
			d.Missing = append(d.Missing, c)
		}
	}
	switch {
	case len(d.Missing) > 0:
		d.Code = run.PermissionDenied
		d.Message = fmt.Sprintf("tool %s (%s) needs %s, which is not allowed for this run", r.Tool, r.Effect, list(d.Missing))
	case d.Trust:
		d.Code = run.UntrustedWorkspace
		d.Message = fmt.Sprintf("tool %s (%s) needs a trusted workspace", r.Tool, r.Effect)
	default:
		return nil
	}
	return d
}

// Needed are the capabilities that a request takes: the tool's own, then those that
// the step declares.
func Needed(r Request) []string { return append([]string{capability(r)}, r.Declared...) }

func capability(r Request) string {
	switch {
	case r.Capability != "":
		return r.Capability
	case r.Effect == tool.Read:
		return tool.CapRead
	}
	return tool.CapWrite
}

func list(caps []string) string {
	if len(caps) == 1 {
		return "the capability " + caps[0]
	}
	return "the capabilities " + strings.Join(caps, ", ")
}

// Merge adds authority: trust and capabilities only grow.
func Merge(a, more run.Authority) run.Authority {
	allow := slices.Concat(a.Allow, more.Allow)
	slices.Sort(allow)
	return run.Authority{Trusted: a.Trusted || more.Trusted, Allow: slices.Compact(allow)}
}
