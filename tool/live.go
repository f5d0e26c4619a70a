package tool

import "io"

// Stream is one of the two channels of a call's live output.
type Stream string

// The streams, named for what programs write to.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// Output takes what a tool prints while it runs, for people who look on and for
// the run's log. It is never nil. Writing is cheap, never fails and never blocks,
// from any goroutine; what is written after the call returned is dropped. Live
// output is shown line by line and is no part of the result: a run neither keeps
// it in its journal nor depends on it.
func (c Call) Output(s Stream) io.Writer {
	if c.Live == nil {
		return io.Discard
	}
	if w := c.Live(s); w != nil {
		return w
	}
	return io.Discard
}
