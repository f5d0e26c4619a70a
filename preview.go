package culm

import (
	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Preview says what a start would do. Its JSON names are the API.
type Preview struct {
	Definition run.DefinitionRef `json:"definition"`
	BundleHash string            `json:"definition_bundle_hash"` // SHA-256, hex
	Args       run.Raw           `json:"validated_args"`
	SessionID  string            `json:"session_id"`
	Labels     map[string]string `json:"labels"`
	Workspace  string            `json:"workspace,omitzero"`
	Authority  run.Authority     `json:"authority"`
	// Steps are those of the plan, in its order, each followed by what it nests.
	Steps []PreviewStep `json:"steps"`
	// LeftOut is how many steps beyond the first 5000 there are, at least.
	LeftOut int `json:"left_out,omitzero"`
	// Budget is what the run could spend, and where each limit comes from.
	Budget []workflow.Bound `json:"budget"`
	// Repeats is the run that the same request under the same key has started: no
	// new one would be.
	Repeats string `json:"repeats,omitzero"`
	// Refusal is why nothing would be started; nil if it would be.
	Refusal *PreviewRefusal `json:"refusal"`

	err error
}

// Err is the error that [Engine.Start] would return; nil if it would start a run,
// or give the one that the request has started.
func (p *Preview) Err() error { return p.err }

// PreviewStep is a step as a preview knows it: before there are any instances.
type PreviewStep struct {
	ID   string            `json:"id"` // "outer/inner", without scopes
	Type workflow.StepType `json:"type"`
	// In are the kinds of the nodes around it in its definition, outermost first;
	// sequences are left out.
	In   []workflow.NodeType `json:"in"`
	Tool string              `json:"tool,omitzero"`
	// Effect is the tool's, or the worst that a call may have if EffectDepends.
	Effect tool.Effect `json:"effect,omitzero"`
	// EffectDepends: the tool computes the effect of each call from its arguments,
	// so it is not known before.
	EffectDepends bool `json:"effect_depends,omitzero"`
	// Capabilities are the tool's own and those that the step declares.
	Capabilities []string `json:"capabilities"`
	// Runs is the definition that a workflow step runs, as id@revision.
	Runs string `json:"runs,omitzero"`
	// Refusal is why the run would be refused because of this step; nil if it is allowed.
	Refusal *PreviewRefusal `json:"refusal"`
	// AtWorst is why a call would fail if its effect, which depends on its
	// arguments, were the worst; the run itself is not refused for that.
	AtWorst *PreviewRefusal `json:"at_worst,omitzero"`
}

// PreviewRefusal is a refusal with what would lift it.
type PreviewRefusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitzero"`
	// NeedsTrust and NeedsAllow are the grants that would allow it.
	NeedsTrust bool     `json:"needs_trust,omitzero"`
	NeedsAllow []string `json:"needs_allow,omitzero"`
}

func previewOf(p *engine.Preview) *Preview {
	if p == nil {
		return nil
	}
	out := &Preview{
		Definition: p.Definition, BundleHash: p.BundleHash, Args: p.Args, SessionID: p.SessionID, Labels: p.Labels,
		Workspace: p.Workspace, Authority: p.Authority, Steps: make([]PreviewStep, len(p.Steps)), LeftOut: p.LeftOut,
		Budget: p.Budget, Repeats: p.Repeats, Refusal: (*PreviewRefusal)(p.Refusal), err: asError(p.Err()),
	}
	for i, s := range p.Steps {
		out.Steps[i] = PreviewStep{
			ID: s.ID, Type: s.Type, In: s.In, Tool: s.Tool, Effect: s.Effect, EffectDepends: s.EffectDepends,
			Capabilities: s.Capabilities, Runs: s.Runs,
			Refusal: (*PreviewRefusal)(s.Refusal), AtWorst: (*PreviewRefusal)(s.AtWorst),
		}
	}
	return out
}
