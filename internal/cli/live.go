package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

// live shows the tree of a run on a terminal and draws it again as it changes.
type live struct {
	in     *invocation
	screen *term.Screen
	model  *tree.Model
	broken bool // the model could not follow
	status string
}

// newLive shows a run of the program, which is nil if it is not known.
func (in *invocation) newLive(program *workflow.Program) *live {
	var outline *tree.Item
	if program != nil {
		outline = tree.Outline(program)
	}
	screen := term.NewScreen(in.Stderr, func() (int, int) { return term.Size(in.Stderr) })
	return &live{in: in, screen: screen, model: tree.NewModel(outline)}
}

// mostLeft is how many lines of the tree are left standing at the end.
const mostLeft = 200

func (d *live) event(ev run.Event, _ bool) {
	if !d.broken {
		d.broken = d.model.Apply(ev) != nil
	}
}

func (d *live) say(line culm.ProgressLine) { d.model.Say(line.StepID, line.Line) }

func (d *live) tick(now time.Time) {
	columns, lines := d.screen.Size()
	pen := tree.Pen{Palette: d.in.palette, Width: columns - 1, Turn: now}
	_ = d.screen.Draw(d.lines(now, pen, lines-2))
}

func (d *live) note(lines ...string) { _ = d.screen.Above(lines...) }

func (d *live) end(v *run.View) {
	columns, _ := d.screen.Size()
	d.status = outcome(v)
	_ = d.screen.Leave(d.lines(d.in.Now(), tree.Pen{Palette: d.in.palette, Width: columns}, mostLeft))
}

// lines is the whole picture: a headline and the tree.
func (d *live) lines(now time.Time, pen tree.Pen, most int) []string {
	rows := tree.Fit(d.model.Rows(now), max(most-1, 1))
	return slices.Concat([]string{d.headline(now)}, tree.Lines(rows, pen))
}

func (d *live) headline(now time.Time) string {
	s, p := d.model.State(), d.in.palette
	if s.RunID == "" {
		return p.Faint("starting")
	}
	status := d.status
	if status == "" {
		status = string(s.Status)
	}
	if s.Status.Terminal() || s.Status == run.StatusSuspended {
		now = s.UpdatedAt
	}
	name := fmt.Sprintf("%s@%d", s.Definition.ID, s.Definition.Revision)
	parts := []string{p.Bold(name), paintStatus(p, s.Status, term.Clean(status)), tree.Duration(now.Sub(s.CreatedAt))}
	if s.Usage.Steps != 1 {
		parts = append(parts, fmt.Sprintf("%d steps", s.Usage.Steps))
	} else {
		parts = append(parts, "1 step")
	}
	return strings.Join(parts, "  ") + "  " + p.Faint("run "+s.RunID)
}

func paintStatus(p term.Palette, status run.Status, text string) string {
	switch status {
	case run.StatusSucceeded:
		return p.Good(text)
	case run.StatusFailed:
		return p.Bad(text)
	case run.StatusSuspended, run.StatusCancelled:
		return p.Warn(text)
	}
	return p.Busy(text)
}
