package doctor

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"time"

	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// clockSlack is how far ahead of this clock an event may be: machines' clocks are
// set by small steps all the time.
const clockSlack = time.Minute

// runs looks at the listing, and into the journals of runs that have not ended.
func (x *examination) runs() error {
	if x.p.Store == nil {
		return nil
	}
	seen := &seen{tools: make(map[string][]string)}
	q := store.Query{Kind: "run", Limit: 1000}
	for more := true; more; more = q.Cursor != "" {
		page, err := x.p.Store.List(x.ctx, q)
		if err != nil {
			if x.report.Worst() == Damage {
				return nil // told already
			}
			x.damagedPage(err.Error())
			return nil
		}
		for _, row := range page.Rows {
			x.report.Runs++
			if row.Updated.After(seen.newest) && row.Damaged == "" {
				seen.newest = row.Updated
			}
			if run.Status(row.Status).Terminal() {
				continue
			}
			x.report.Unfinished++
			if row.InDoubt {
				seen.doubtful = append(seen.doubtful, row.ID)
			}
			if err := x.unfinished(row.ID, seen); err != nil {
				return err
			}
		}
		q.Cursor = page.Next
	}
	x.clock(seen)
	x.copies(seen)
	x.doubts(seen)
	x.tools(seen)
	return nil
}

// seen is what the journals of unfinished runs say.
type seen struct {
	newest   time.Time           // time in any journal
	restored []string            // copied with the store, and not taken over
	imported []string            // brought here, and not taken over
	doubtful []string            // with a step of which nobody knows whether it happened
	tools    map[string][]string // runs, by the tool that they call and that is not here
}

// unfinished folds a run's journal. What cannot be folded was told as damage, or
// was written by a newer version.
func (x *examination) unfinished(id string, s *seen) error {
	st, err := x.fold(id)
	if err != nil || st == nil {
		return err
	}
	if st.UpdatedAt.After(s.newest) {
		s.newest = st.UpdatedAt
	}
	who := &x.report.Identity
	switch {
	case st.Imported != "":
		s.imported = append(s.imported, id)
	case who.Copied != "" && !st.CreatedAt.After(who.CopiedAt) && st.TakenOver != who.Generation:
		s.restored = append(s.restored, id)
	}
	for name := range st.Tools {
		if x.p.HasTool != nil && !x.p.HasTool(name) {
			s.tools[name] = append(s.tools[name], id)
		}
	}
	return nil
}

func (x *examination) fold(id string) (*run.State, error) {
	st := run.NewState()
	for {
		groups, err := x.p.Store.Read(x.ctx, id, st.Last, 1<<20)
		var damage *store.DamagedError
		if errors.As(err, &damage) || errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", id, err)
		}
		if len(groups) == 0 {
			return st, nil
		}
		for _, g := range groups {
			for _, line := range g.Events {
				ev, err := run.Decode(line)
				if err == nil {
					err = st.Apply(ev)
				}
				if err != nil {
					x.contradiction(id, err)
					return nil, nil
				}
			}
		}
	}
}

// contradiction is a journal whose bytes are whole, and that cannot be.
func (x *examination) contradiction(id string, err error) {
	f := Finding{
		Code: store.FoundDamagedStream, Level: Damage, Runs: []string{id},
		Message: fmt.Sprintf("run %s is damaged: %v", id, err), Meaning: "it cannot go on; all other runs are as they were",
		Type: []Line{x.culm("keeps what is left of it", "export", tail(id))},
	}
	if errors.Is(err, run.ErrNewerFormat) {
		f.Code, f.Level = CodeNewerFormat, Problem
		f.Message, f.Meaning = fmt.Sprintf("run %s: %v", id, err), "this version shows it in part, and does not go on with it"
		f.Type = []Line{typed("culm version", "this one; use the one that wrote it, or a newer one")}
	}
	x.found(f)
}

func (x *examination) clock(s *seen) {
	now := x.p.Now()
	ahead := s.newest.Sub(now)
	if s.newest.IsZero() || ahead < clockSlack {
		return
	}
	x.found(Finding{
		Code: CodeClockInPast, Level: Problem,
		Message: fmt.Sprintf("this machine's clock says %s, and the newest event is of %s, %s later",
			now.UTC().Format(time.RFC3339), s.newest.UTC().Format(time.RFC3339), ahead.Round(time.Second)),
		Meaning: "the clock is behind, or was ahead: what falls due at a time comes late; nothing is lost or done twice",
		Type:    []Line{typed("date -u", "is it right? if not: timedatectl set-ntp true")},
	})
}

func (x *examination) copies(s *seen) {
	who := &x.report.Identity
	if who.Copied != "" {
		f := Finding{
			Code: CodeRestoredBackup, Level: Note, Runs: s.restored,
			Message: fmt.Sprintf("this store is a copy, made %s, of the store with generation %s", who.CopiedAt.UTC().Format(time.RFC3339), who.Copied),
			Meaning: "what happened there since is not known here; no run of it waits to be taken over",
			Type:    []Line{},
		}
		if len(s.restored) > 0 {
			f.Level = Problem
			f.Meaning = fmt.Sprintf("%s had not ended when it was made, and may have gone on there: to go on here too would do things twice", runsOf(s.restored))
			f.Type = x.takeover(s.restored)
		}
		x.found(f)
	}
	if len(s.imported) > 0 {
		x.found(Finding{
			Code: CodeImportedRun, Level: Problem, Runs: s.imported,
			Message: runsOf(s.imported) + ": imported before it had ended",
			Meaning: "it may go on where it came from: to go on here too would do things twice",
			Type:    x.takeover(s.imported),
		})
	}
}

func (x *examination) takeover(runs []string) []Line {
	return []Line{
		x.culm("if it does not go on there", "continue", tail(runs[0]), "--takeover"),
		x.culm("if it does", "cancel", tail(runs[0])),
	}
}

// doubts are for somebody to decide: nothing else ends them.
func (x *examination) doubts(s *seen) {
	if len(s.doubtful) == 0 {
		return
	}
	x.found(Finding{
		Code: CodeInDoubt, Level: Problem, Runs: s.doubtful,
		Message: runsOf(s.doubtful) + ": nobody knows whether a step happened",
		Meaning: "it waits until somebody has looked, and said what happened",
		Type: []Line{
			x.culm("which step, and how to say what happened", "show", tail(s.doubtful[0])),
			x.culm("all of them", "list", "--in-doubt"),
		},
	})
}

func (x *examination) tools(s *seen) {
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		runs := s.tools[name]
		x.found(Finding{
			Code: CodeMissingTool, Level: Problem, Runs: runs,
			Message: fmt.Sprintf("%s: there is no tool %q here", runsOf(runs), name),
			Meaning: "it can go on only in a program that has that tool, such as the one that started it",
			Type: []Line{
				x.culm("who started it?", "events", tail(runs[0])),
				x.culm("gives it up", "cancel", tail(runs[0])),
			},
		})
	}
}

// programs looks for what tools need.
func (x *examination) programs() error {
	look := x.p.Program
	if look == nil {
		look = func(name string) error { _, err := exec.LookPath(name); return err }
	}
	if look("git") != nil {
		x.found(Finding{
			Code: CodeNoGit, Level: Note, Message: "there is no git in PATH",
			Meaning: "steps that call the tool git will fail",
			Type:    []Line{typed("sudo apt-get install git", "or your system's way to install it")},
		})
	}
	if !x.p.Guarded {
		x.found(Finding{
			Code: CodeNoGuard, Level: Note, Message: "processes of the tool exec have no guard here",
			Meaning: "if culm dies, what it started may live on; steps of which that is so are still in doubt",
			Type:    []Line{},
		})
	}
	return nil
}
