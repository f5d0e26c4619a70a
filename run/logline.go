package run

import "time"

// LogLine is one line that a tool printed, or said about itself, while it ran. It
// belongs to the run's log and not to its journal: no promise is attached to it.
// Its JSON is a line of a log file.
type LogLine struct {
	// N numbers the lines of a log, from 1. Whoever keeps the log gives it; lines
	// that were left out leave gaps.
	N       uint64    `json:"n"`
	At      time.Time `json:"at"`   // when it was complete; UTC
	Step    string    `json:"step"` // the full step instance
	Attempt int       `json:"attempt"`
	Stream  string    `json:"stream,omitzero"` // one of the Log constants; "" where Cut is set
	// Text is valid UTF-8 without the line feed.
	Text string `json:"text"`
	// Open says that the line goes on in the next one of the same attempt and
	// stream: it was long, or nothing more came for a moment.
	Open bool `json:"open,omitzero"`
	// Cut, when not 0, stands in place of text of this attempt that was not kept:
	// about so many bytes.
	Cut int64 `json:"cut,omitzero"`
}

// Where the text of a LogLine came from.
const (
	LogStdout   = "stdout"
	LogStderr   = "stderr"
	LogProgress = "progress" // the tool's own words about what goes on
)
