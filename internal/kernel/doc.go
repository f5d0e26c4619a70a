// Package kernel is the pure heart of Culm: a deterministic state machine that
// knows what a plan means. It has no I/O, no clock, no goroutine, no randomness.
//
// [Machine.Apply] moves it on by one event; [Machine.Next] says what may or must
// happen now. What Next returns is never remembered: it becomes true only when
// the engine has made the event durable that says so, and applied it. Running,
// recovering and continuing are the same code: fold the journal, ask what is next.
//
// # How a plan is walked
//
// Every active plan node has a frame. A frame is entered once its predecessors
// are done, and looks first at what the journal already says about its instance:
// a finished step gives its recorded output, a skipped one stays skipped, a
// decision stands, and what was never entered waits to be. So the same walk
// serves a journal of no events and of ten thousand. Applying an event touches
// the frames from one leaf upwards: its cost is the depth of the plan.
//
// # What nodes do
//
//   - step: its failure policy turns a failure into what its parent sees.
//     continue_with_error: success with the output {"error": failure}.
//     skip_dependents: the nearest enclosing sequence in the same scope skips its
//     other nodes and succeeds with {"error": failure}; where a parallel branch,
//     a map item, a repeat round or the whole plan is reached first, that branch,
//     item, round or plan has this output.
//     Directly inside a retry node the policy waits until the retry gave up.
//   - sequence: in order; the last node's output; the first failure fails it.
//   - parallel: all at once; outputs in node order. The first failure, named
//     branch[i], cancels the other branches; the node fails when they all ended.
//   - choice: the condition is decided once; the steps of the other branch are
//     skipped; without an else the output is null.
//   - map: the items are decided once; the body runs for each, at most
//     concurrency at a time; outputs in item order. Failures do not cancel other
//     items; if more fail than are tolerated, the node fails with all of them, named
//     item[i], and the code of the first; else {"error": failure} is their output.
//   - retry: if its node failed and every leaf in it that did not succeed failed
//     retryably, was cancelled or was never entered, a round is reserved, and the
//     leaves that did not succeed are entered again once it is due. After
//     max_attempts the failure is retry_exhausted; without budget budget_exceeded.
//   - repeat: body, then until is decided; true ends it with the body's output,
//     false enters the next round; after max rounds it fails repeat_exhausted.
//   - finally, on_failure: the node; and once all of it has ended, the cleanup: of
//     on_failure unless the node succeeded, of neither if nothing in the node was
//     entered. The node's output, and its failure; a cleanup that fails is named
//     beside it, or fails a node that succeeded. In a cleanup, what the journal
//     says counts only if it came after the node's end: a retry around makes the
//     cleanup of the next round a new one.
//   - workflow steps: their inner plan is walked under "<instance>/".
//
// # Cancellation and doubt
//
// Cancelling a scope stops entering leaves in it; calls in flight are asked to
// stop, waits end at once, and the scope is done only when all its leaves have
// ended. A leaf in doubt has not ended: nothing above it ends before someone
// decided, except when cancelling the run itself was asked for.
//
// What cancels a scope does not cancel the cleanups in it: they go on, or begin, as
// their nodes end, also in a run that can only end, until the time is over that those
// have. A cancel of the run gives up the doubts that it finds; one that comes up in a
// cleanup after that waits for a verdict.
package kernel
