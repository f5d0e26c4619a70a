package engine

import (
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

const (
	// openPatience is how long the beginning of a line waits for its end before it
	// is shown: a prompt has none.
	openPatience = 250 * time.Millisecond
	// endPatience is how long the end of a call waits for its output to be kept, so
	// that who hears of the end finds it. A disk that hangs longer costs only the
	// output.
	endPatience = time.Second
)

// liveOutput is what one call prints and says about itself while it runs. The call
// only leaves it here: a goroutine that lives from the first word to the end of
// the call makes lines of it, so that no step waits for a disk or an onlooker.
type liveOutput struct {
	e     *Engine
	runID string
	place run.LogLine // step and attempt

	wake chan struct{} // there is something to do
	over chan struct{} // closed when the call has returned
	gone chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	queue   liveQueue
	streams []*liveStream // in the order in which they were first used
	begun   bool          // the goroutine was started
	ended   bool
}

// newLiveOutput is nil if nobody listens.
func (e *Engine) newLiveOutput(runID, stepID string, attempt int) *liveOutput {
	if e.cfg.Logs == nil && e.cfg.Progress == nil {
		return nil
	}
	return &liveOutput{
		e: e, runID: runID, place: run.LogLine{Step: stepID, Attempt: attempt},
		wake: make(chan struct{}, 1), over: make(chan struct{}), gone: make(chan struct{}),
	}
}

// writer gives the one writer of a stream of the tool; nil for what is none.
func (l *liveOutput) writer(s tool.Stream) io.Writer {
	if s != tool.Stdout && s != tool.Stderr {
		return nil
	}
	return l.stream(string(s))
}

func (l *liveOutput) stream(name string) *liveStream {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.streams, func(s *liveStream) bool { return s.name == name })
	if at < 0 {
		at = len(l.streams)
		l.streams = append(l.streams, &liveStream{name: name, of: l})
	}
	return l.streams[at]
}

// progress takes the tool's own words.
func (l *liveOutput) progress(text string) {
	text = strings.TrimRight(text, "\n")
	if show := l.e.cfg.Progress; show != nil {
		last := text[strings.LastIndexByte(text, '\n')+1:]
		show(ProgressLine{RunID: l.runID, StepID: l.place.Step, Line: strings.ToValidUTF8(last, "\uFFFD")})
	}
	if l.e.cfg.Logs != nil {
		_, _ = l.stream(run.LogProgress).Write([]byte(text + "\n"))
	}
}

// put takes what is written to a stream. The goroutine is started if need be.
func (l *liveOutput) put(to *liveStream, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return
	}
	l.queue.put(to, p)
	if !l.begun {
		l.begun = true
		go l.serve()
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *liveOutput) serve() {
	defer close(l.gone)
	var patience <-chan struct{} // nil while no line is waited for
	stop := func() bool { return false }
	for {
		select {
		case <-l.wake:
			l.pass(l.lines(nil))
			if patience == nil && l.anyBegun() {
				patience, stop = l.e.alarm(openPatience)
			}
		case <-patience:
			patience = nil
			l.pass(l.lines((*liveStream).show))
		case <-l.over:
			stop()
			l.pass(l.lines((*liveStream).finish))
			return
		}
	}
}

// lines makes lines of what was printed since, and does with each stream what is
// to be done with a line that has not ended; nil leaves it.
func (l *liveOutput) lines(then func(*liveStream, []run.LogLine) []run.LogLine) []run.LogLine {
	l.mu.Lock()
	head, cut, tail := l.queue.take()
	streams := slices.Clone(l.streams)
	l.mu.Unlock()
	var lines []run.LogLine
	for _, c := range head {
		lines = c.to.split(lines, c.text)
	}
	if cut > 0 {
		for _, s := range streams {
			lines = s.finish(lines)
		}
		lines = append(lines, run.LogLine{Cut: cut})
	}
	for _, c := range tail {
		lines = c.to.split(lines, c.text)
	}
	if then == nil {
		return lines
	}
	for _, s := range streams {
		lines = then(s, lines)
	}
	return lines
}

func (l *liveOutput) anyBegun() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.streams, func(s *liveStream) bool { return len(s.begun) > 0 })
}

// pass passes lines on: all to the log, the latest of the program's to who looks on.
// What panics there is not the run's concern.
func (l *liveOutput) pass(lines []run.LogLine) {
	if len(lines) == 0 {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			l.e.cfg.Logger.Error("live output panicked", "run", l.runID, "step", l.place.Step, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	at := l.e.now()
	latest := ProgressLine{RunID: l.runID, StepID: l.place.Step}
	for i := range lines {
		line := &lines[i]
		line.At, line.Step, line.Attempt = at, l.place.Step, l.place.Attempt
		if line.Stream != run.LogProgress && strings.TrimSpace(line.Text) != "" {
			latest.Stream, latest.Line = tool.Stream(line.Stream), line.Text
		}
	}
	if show := l.e.cfg.Progress; show != nil && latest.Line != "" {
		show(latest)
	}
	if logs := l.e.cfg.Logs; logs != nil {
		logs.Append(l.runID, lines)
	}
}

// end is called when the call has returned. Whoever hears of its outcome finds its
// output kept, unless the disk hangs.
func (l *liveOutput) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.ended = true
	begun := l.begun
	l.mu.Unlock()
	close(l.over)
	if !begun {
		return
	}
	patience, stop := l.e.alarm(endPatience)
	defer stop()
	select {
	case <-l.gone:
	case <-patience:
	}
}
