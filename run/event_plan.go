package run

import "time"

// Types of events about plan nodes.
const (
	TypeDecided       Type = "decided"
	TypeRetryReserved Type = "retry_reserved"
)

// Decided records what the plan decided: a choice's condition, a map's items, a
// repeat's until, or that the run's wall time is over. A decision never changes.
type Decided struct {
	// Node is the node's place in its canonical definition, e.g. "/plan/nodes/1",
	// or WallTimeNode.
	Node string `json:"node"`
	// Scope says in which instance of the node's definition and scope, e.g. "",
	// "@root[2]", "outer@root[1]/".
	Scope string `json:"scope"`
	// Value is a boolean (choice, repeat) or an array (map).
	Value     Raw   `json:"value,omitzero"`
	ValueBlob *Blob `json:"value_blob,omitzero"`
	Count     int   `json:"count,omitzero"` // of a map's items
	// Failure, when not nil, says that no decision could be made.
	Failure *Failure `json:"failure,omitzero"`
	// Cleanup: the node is part of a cleanup. Such a decision holds for one round
	// of the cleanup.
	Cleanup bool `json:"cleanup,omitzero"`
}

// WallTimeNode is Decided.Node of the decision that the run's time is over.
const WallTimeNode = "/budgets/wall_time_ms"

// CleanupTimeNode is Decided.Node of the decision that the time is over which the
// cleanups of a run have that can only end.
const CleanupTimeNode = "/budgets/cleanup_ms"

// RetryReserved is one round of a retry node: the leaves of the node that did
// not succeed before this event may be entered again from Due on.
type RetryReserved struct {
	Node        string    `json:"node"`
	Scope       string    `json:"scope"`
	Round       int       `json:"round"` // from 1
	Due         time.Time `json:"due"`
	Reservation Amounts   `json:"reservation"` // {"retries": 1}
	// Cleanup: the node is part of a cleanup.
	Cleanup bool `json:"cleanup,omitzero"`
}

// EventType implements Body.
func (*Decided) EventType() Type       { return TypeDecided }
func (*RetryReserved) EventType() Type { return TypeRetryReserved }
