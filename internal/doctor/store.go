package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/culm-dev/culm/store"
)

// store has the store examine itself, and says what its findings mean.
func (x *examination) store() error {
	if x.p.Store == nil {
		return nil
	}
	var err error
	if x.report.Identity, err = x.p.Store.Identity(x.ctx); err != nil {
		x.damagedPage(err.Error())
	}
	var all []store.Finding
	if err := x.p.Store.Examine(x.ctx, func(f store.Finding) { all = append(all, f) }); err != nil {
		return fmt.Errorf("examine the store: %w", err)
	}
	if x.report.Identity.Generation == "" && len(all) == 0 {
		x.nothing()
		return nil
	}
	x.pages(all)
	x.streams(all)
	x.owners(all)
	x.leftovers(all)
	return nil
}

// nothing is said where no store was made yet: whoever looks at a copy may have named
// the wrong folder, or named it as the other kind of store.
func (x *examination) nothing() {
	if x.p.Folder == "" {
		return
	}
	f := Finding{
		Code: CodeNoStore, Level: Note, Path: x.p.Folder, Message: "there is no store here: " + x.p.Folder,
		Meaning: "no run was ever started here, or this is not the place that was meant",
		Type:    []Line{},
	}
	if _, err := os.Stat(filepath.Join(x.p.Folder, "format.json")); err == nil {
		f.Type = append(f.Type, typed("culm doctor --store "+quoted("file:"+x.p.Folder), "there is a store of files in this folder"))
	} else if _, err := os.Stat(filepath.Join(x.p.Folder, "culm.db")); err == nil {
		f.Type = append(f.Type, typed("culm doctor --data "+quoted(x.p.Folder), "there is a culm.db in this folder"))
	}
	x.found(f)
}

// of are the findings with a code.
func of(all []store.Finding, code string) []store.Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f store.Finding) bool { return f.Code != code })
}

func (x *examination) pages(all []store.Finding) {
	var texts []string
	for _, f := range of(all, store.FoundDamagedPage) {
		if !slices.Contains(texts, f.Message) {
			texts = append(texts, f.Message)
		}
	}
	if len(texts) > 0 {
		x.damagedPage(some(texts, 3))
	}
	for _, f := range of(all, store.FoundDamagedRow) {
		x.found(Finding{
			Code: store.FoundDamagedRow, Level: Damage, Path: x.p.Folder, Message: f.Message,
			Meaning: "what it held is lost (an idempotency key, what was spent, or that a message was posted before); runs are as they were",
			Type:    []Line{x.salvage()},
		})
	}
}

func (x *examination) damagedPage(message string) {
	x.found(Finding{
		Code: store.FoundDamagedPage, Level: Damage, Path: x.p.Folder, Message: "the store's files are damaged: " + message,
		Meaning: "what cannot be read is refused, and nothing false is told; the disk, or what copied the files, is not to be trusted",
		Type: []Line{
			x.salvage(),
			typed("sudo dmesg | tail -50", "does the disk report errors?"),
		},
	})
}

func (x *examination) salvage() Line {
	return x.culm("copies what reads to a new folder, after all culm processes have ended", "doctor", "--salvage", "NEW")
}

func (x *examination) streams(all []store.Finding) {
	seen := make(map[string]bool)
	for _, f := range of(all, store.FoundDamagedStream) {
		if seen[f.Stream] {
			continue
		}
		seen[f.Stream] = true
		x.found(Finding{
			Code: store.FoundDamagedStream, Level: Damage, Runs: []string{f.Stream},
			Message: fmt.Sprintf("run %s is damaged: %s", f.Stream, f.Message),
			Meaning: "it cannot go on; all other runs are as they were",
			Type: []Line{
				x.culm("as far as it can be read", "show", tail(f.Stream)),
				x.culm("keeps what is left of it", "export", tail(f.Stream)),
				x.culm("begins anew, with the same definition and arguments, if they read", "restart", tail(f.Stream)),
			},
		})
	}
}

func (x *examination) owners(all []store.Finding) {
	if dead := of(all, store.FoundDeadOwner); len(dead) > 0 {
		runs, pids := streamsOf(dead), pidsOf(dead)
		x.found(Finding{
			Code: store.FoundDeadOwner, Level: Problem, Runs: runs, PID: dead[0].PID,
			Message: fmt.Sprintf("nobody works on %s: the process that did%s is gone", runsOf(runs), pids),
			Meaning: "it was killed, or the machine went down; what was finished is safe, and a call that was in flight is in doubt",
			Type: []Line{
				x.culm("marks them as suspended; runs nothing", "recover"),
				x.culm("goes on where it was left", "continue", tail(runs[0])),
			},
		})
	}
	byPID := make(map[int][]store.Finding)
	for _, f := range of(all, store.FoundStoppedOwner) {
		byPID[f.PID] = append(byPID[f.PID], f)
	}
	for pid, stopped := range byPID {
		runs := streamsOf(stopped)
		x.found(Finding{
			Code: store.FoundStoppedOwner, Level: Problem, Runs: runs, PID: pid,
			Message: fmt.Sprintf("process %d, which works on %s, is stopped (SIGSTOP)", pid, runsOf(runs)),
			Meaning: "it lives, so that nobody may take the run over; nothing happens until it goes on or dies",
			Type: []Line{
				typed(fmt.Sprintf("kill -CONT %d", pid), "lets it go on"),
				typed(fmt.Sprintf("kill -KILL %d", pid), "ends it; then: "+x.p.Command("continue", tail(runs[0]))),
			},
		})
	}
}

func (x *examination) leftovers(all []store.Finding) {
	for range of(all, store.FoundUnfinishedCommit) {
		x.found(Finding{
			Code: store.FoundUnfinishedCommit, Level: Note, Message: "a crash broke something off that is not finished yet",
			Meaning: "nothing is wrong; what is left of it takes space",
			Type:    []Line{x.culm("finishes it", "gc")},
		})
	}
	var files []string
	for _, f := range of(all, store.FoundLeftoverFile) {
		if strings.HasSuffix(f.Message, ".lock") {
			continue // the next process that works on a run removes it
		}
		files = append(files, f.Message)
	}
	if len(files) > 0 {
		remove := make([]Line, len(files))
		for i, f := range files {
			remove[i] = typed("rm "+quoted(f), "")
		}
		x.found(Finding{
			Code: store.FoundLeftoverFile, Level: Note, Path: files[0],
			Message: "a copy that was broken off left " + some(files, 3),
			Meaning: "nothing needs it, unless a backup is under way",
			Type:    remove,
		})
	}
}

func streamsOf(list []store.Finding) []string {
	var names []string
	for _, f := range list {
		names = append(names, f.Stream)
	}
	return names
}

// pidsOf names the processes that are known, in parentheses.
func pidsOf(list []store.Finding) string {
	var pids []string
	for _, f := range list {
		if text := fmt.Sprint(f.PID); f.PID > 0 && !slices.Contains(pids, text) {
			pids = append(pids, text)
		}
	}
	if len(pids) == 0 {
		return ""
	}
	return " (pid " + some(pids, 5) + ")"
}

// runsOf names runs by the ends of their ids, by which they can be typed.
func runsOf(ids []string) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = tail(id)
	}
	if len(ids) == 1 {
		return "run " + names[0]
	}
	return fmt.Sprintf("%d runs (%s)", len(ids), some(names, 5))
}

// tail is the random end of a run's id, by which it can be named.
func tail(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }
