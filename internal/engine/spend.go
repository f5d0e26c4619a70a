package engine

import (
	"fmt"

	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/run"
)

// reserve takes a retry round from the budget.
func (o *owner) reserve(a kernel.Action) error {
	st := o.state()
	if st.Usage.Retries >= st.Budget.MaxRetries {
		spent := overBudget("max_retries", st.Budget.MaxRetries)
		return o.emit("", &run.Decided{Node: a.Node, Scope: a.Scope, Failure: spent, Cleanup: a.Cleanup})
	}
	return o.emit("", &run.RetryReserved{
		Node: a.Node, Scope: a.Scope, Round: a.Round,
		Due: o.e.now().Add(a.Delay), Reservation: run.Amounts{"retries": 1}, Cleanup: a.Cleanup,
	})
}

func overBudget(field string, limit int64) *run.Failure {
	return &run.Failure{Code: run.BudgetExceeded, Message: fmt.Sprintf("the budget of %s %d is used up", field, limit)}
}

// overSteps says that no step is left, but for what is kept free for cleanups.
func overSteps(st *run.State, keep int64) *run.Failure {
	fl := overBudget("max_steps", st.Budget.MaxSteps)
	if st.Usage.Steps < st.Budget.MaxSteps {
		fl.Message += fmt.Sprintf(", but for %d that cleanups may still need", keep)
	}
	return fl
}
