package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/culm-dev/culm/internal/policy"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// Preview says what a start would do. Its JSON names are the API.
type Preview struct {
	Definition run.DefinitionRef `json:"definition"`
	BundleHash string            `json:"definition_bundle_hash"`
	Args       run.Raw           `json:"validated_args"`
	SessionID  string            `json:"session_id"`
	Labels     map[string]string `json:"labels"`
	Workspace  string            `json:"workspace,omitzero"`
	Authority  run.Authority     `json:"authority"`
	// Steps are those of the plan, in its order, each followed by what it nests.
	Steps []PreviewStep `json:"steps"`
	// LeftOut is how many steps beyond the first [PreviewSteps] there are, at least.
	LeftOut int              `json:"left_out,omitzero"`
	Budget  []workflow.Bound `json:"budget"`
	// Repeats is the run that the same request under the same key has started: no
	// new one would be.
	Repeats string `json:"repeats,omitzero"`
	// Refusal is why nothing would be started; nil if it would be.
	Refusal *PreviewRefusal `json:"refusal"`

	refusal *Error
}

// PreviewSteps is how many steps a preview lists.
const PreviewSteps = 5000

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
	// Runs is the definition that a workflow step runs.
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

// Err is the error that Start would return; nil if it would start a run, or give
// the one that the request has started.
func (p *Preview) Err() error {
	if p.refusal == nil {
		return nil
	}
	return p.refusal
}

// Preview does everything that Start does before it writes, and writes nothing.
// What would refuse the start is part of the preview; the error is for what has no
// preview: a definition, arguments or labels that are invalid, or a store that
// cannot be read.
func (e *Engine) Preview(ctx context.Context, s Start) (*Preview, error) {
	if r := e.closedRefusal(); r != nil {
		return nil, r
	}
	p, err := e.draft(s)
	if err != nil {
		return nil, err
	}
	pv := &Preview{
		Definition: run.DefinitionRef{ID: p.prog.Root.Def.ID, Revision: p.prog.Root.Def.Revision},
		BundleHash: p.prog.Hash, Args: p.rawArgs, SessionID: p.start.SessionID, Labels: p.start.Labels,
		Workspace: p.workspace, Authority: p.auth, Steps: []PreviewStep{},
		Budget: workflow.Bounds(p.prog.Root.Def.Budgets, e.cfg.Ceilings, s.Budget),
	}
	if pv.Labels == nil {
		pv.Labels = map[string]string{}
	}
	e.previewPlan(pv, p.prog.Root, "")
	err = e.mayStart(ctx, p)
	if err != nil && (!errors.As(err, &pv.refusal) || pv.refusal.Code == CodeStorage) {
		return nil, err
	}
	pv.Repeats = p.existing
	if pv.refusal != nil {
		pv.Refusal = previewRefusal(pv.refusal)
	}
	return pv, nil
}

func previewRefusal(err *Error) *PreviewRefusal {
	r := &PreviewRefusal{Code: err.Code, Message: err.Message, Hint: err.Hint}
	r.NeedsTrust, _ = err.Details["needs_trust"].(bool)
	r.NeedsAllow, _ = err.Details["needs_allow"].([]string)
	return r
}

// previewPlan lists the steps of a definition's plan, and of what they nest.
func (e *Engine) previewPlan(pv *Preview, w *workflow.Workflow, prefix string) {
	var visit func(n *workflow.PlanNode, in []workflow.NodeType)
	visit = func(n *workflow.PlanNode, in []workflow.NodeType) {
		if n.Type != workflow.StepNode {
			if n.Type != workflow.SequenceNode {
				in = append(slices.Clip(in), n.Type)
			}
			for _, child := range n.Children {
				visit(child, in)
			}
			return
		}
		if len(pv.Steps) == PreviewSteps {
			pv.LeftOut += n.Leaves
			return
		}
		st := e.previewStep(w, n.Step, pv.Authority)
		st.ID, st.In = prefix+n.Step.Def.ID, in
		pv.Steps = append(pv.Steps, st)
		if n.Step.Nested != nil {
			e.previewPlan(pv, n.Step.Nested, st.ID+"/")
		}
	}
	visit(w.Plan, []workflow.NodeType{})
}

func (e *Engine) previewStep(w *workflow.Workflow, s *workflow.StepInfo, a run.Authority) PreviewStep {
	st := PreviewStep{Type: s.Def.Type, Tool: s.Def.Tool, Capabilities: []string{}}
	if s.Nested != nil {
		st.Runs = s.Nested.Ref
	}
	if req, depends, ok := e.request(s); ok {
		spec, _ := e.tools.Spec(s.Def.Tool)
		st.Effect, st.EffectDepends = spec.Effect, depends
		st.Capabilities = policy.Needed(req)
		if req.Effect = spec.Effect; depends {
			st.AtWorst = denied(policy.Check(a, req))
		}
	}
	for _, check := range []stepCheck{runnableStep, e.toolPresent, secretAvailable, e.permittedStep(a)} {
		if err := check(w, s); err != nil {
			st.Refusal, st.AtWorst = previewRefusal(err), nil
			st.Refusal.NeedsTrust, _ = err.Details["trust"].(bool)
			st.Refusal.NeedsAllow, _ = err.Details["capabilities"].([]string)
			break
		}
	}
	return st
}

func denied(d *policy.Denial) *PreviewRefusal {
	if d == nil {
		return nil
	}
	return &PreviewRefusal{Code: string(d.Code), Message: d.Message, Hint: d.Hint(), NeedsTrust: d.Trust, NeedsAllow: d.Missing}
}
