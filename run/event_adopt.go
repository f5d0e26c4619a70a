package run

// Types of events about what a run takes over from the run that it was restarted
// from. They stand between run_queued and run_started, and nowhere else.
const (
	TypeStepAdopted Type = "step_adopted"
	TypeNodeAdopted Type = "node_adopted"
)

// StepAdopted is the outcome of a step that was not entered in this run: it ended
// in another one. The value is copied, so that this run does not need that one.
type StepAdopted struct {
	// FromRun is the root run that really ran the step.
	FromRun   string `json:"from_run"`
	InputHash string `json:"input_hash,omitzero"`
	// Output is set if it succeeded.
	Output     Raw   `json:"output,omitzero"`
	OutputBlob *Blob `json:"output_blob,omitzero"`
	// Failure is set if it failed, and the plan went on all the same.
	Failure *Failure `json:"failure,omitzero"`
	// Cancelled: it was cancelled beside a failure that the plan went on from.
	Cancelled bool `json:"cancelled,omitzero"`
}

// NodeAdopted is what a plan node had decided in the run that this one was
// restarted from, or the latest round that a retry had reserved there. A round that
// is taken over reserves nothing.
type NodeAdopted struct {
	Node      string   `json:"node"`  // as in Decided
	Scope     string   `json:"scope"` // as in Decided
	Value     Raw      `json:"value,omitzero"`
	ValueBlob *Blob    `json:"value_blob,omitzero"`
	Count     int      `json:"count,omitzero"` // of a map's items
	Failure   *Failure `json:"failure,omitzero"`
	Round     int      `json:"round,omitzero"` // of a retry, from 1; then the rest is unset
}

// EventType implements Body.
func (*StepAdopted) EventType() Type { return TypeStepAdopted }
func (*NodeAdopted) EventType() Type { return TypeNodeAdopted }
