package engine

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/culm-dev/culm/run"
)

// maxLogLine is how long a line of a log may be, in bytes; longer ones are given in
// pieces.
const maxLogLine = 8 << 10

// costOf is what a text is in a log, in bytes. What is begun counts as a line.
func costOf(text []byte) int {
	return len(text) + lineCost*(1+bytes.Count(text, []byte("\n")))
}

// liveStream is one stream of a call. Its writer is safe for concurrent use; the
// rest belongs to the goroutine of its liveOutput.
type liveStream struct {
	name string
	of   *liveOutput

	begun []byte // of a line that has not ended
	open  bool   // an earlier part of that line was passed on
}

// Write implements [io.Writer]; it never fails and never waits for anybody.
func (s *liveStream) Write(p []byte) (int, error) {
	s.of.put(s, p)
	return len(p), nil
}

// split adds the lines that end in b, and keeps what begins another.
func (s *liveStream) split(lines []run.LogLine, b []byte) []run.LogLine {
	for len(b) > 0 {
		piece, rest, ended := bytes.Cut(b, []byte("\n"))
		b = rest
		if ended && len(s.begun) == 0 && len(piece) <= maxLogLine {
			lines = s.endLine(lines, piece)
			continue
		}
		s.begun = append(s.begun, piece...)
		for len(s.begun) > maxLogLine {
			lines = s.pass(lines, wholeRunes(s.begun[:maxLogLine]))
		}
		if ended {
			lines = s.endLine(lines, s.begun)
		}
	}
	return lines
}

// endLine adds a line that has ended.
func (s *liveStream) endLine(lines []run.LogLine, text []byte) []run.LogLine {
	text = bytes.TrimSuffix(text, []byte("\r"))
	lines = append(lines, run.LogLine{Stream: s.name, Text: safeText(text)})
	s.begun, s.open = s.begun[:0], false
	return lines
}

// finish adds a line that was begun and will not be gone on with.
func (s *liveStream) finish(lines []run.LogLine) []run.LogLine {
	if len(s.begun) == 0 && !s.open {
		return lines
	}
	return s.endLine(lines, s.begun)
}

// show adds the beginning of a line whose end has not come, as far as its
// characters are whole.
func (s *liveStream) show(lines []run.LogLine) []run.LogLine {
	if n := wholeRunes(s.begun); n > 0 {
		lines = s.pass(lines, n)
	}
	return lines
}

// pass adds the first n bytes of what was begun as a part of a line.
func (s *liveStream) pass(lines []run.LogLine, n int) []run.LogLine {
	lines = append(lines, run.LogLine{Stream: s.name, Text: safeText(s.begun[:n]), Open: true})
	s.begun = append(s.begun[:0], s.begun[n:]...)
	s.open = true
	return lines
}

// wholeRunes is how many bytes of b do not break off within a character.
func wholeRunes(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if at := len(b) - i; utf8.RuneStart(b[at]) {
			if utf8.FullRune(b[at:]) {
				break
			}
			return at
		}
	}
	return len(b)
}

func safeText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
