// Package doctor looks at a store and what is around it, and says of everything
// that is wrong what it is, what it means, and what to type. It changes nothing.
package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/culm-dev/culm/store"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	// Damage: what is stored is not what was stored, or cannot be read or written.
	Damage Level = "damage"
	// Problem: something waits for somebody, or does not work.
	Problem Level = "problem"
	// Note: nothing is wrong, and it is good to know.
	Note Level = "note"
)

// Codes of findings beside those of the store (store.FoundDamagedStream, ...).
const (
	CodeInvalidConfig  = "invalid_config"
	CodeUnreadable     = "unreadable"
	CodeNoStore        = "no_store"
	CodeNewerFormat    = "newer_format"
	CodeWrongRights    = "wrong_rights"
	CodeClockInPast    = "clock_in_past"
	CodeDiskFull       = "disk_full"
	CodeLowSpace       = "low_space"
	CodeRestoredBackup = "restored_backup"
	CodeImportedRun    = "imported_run"
	CodeInDoubt        = "in_doubt"
	CodeMissingTool    = "missing_tool"
	CodeNoGit          = "no_git"
	CodeNoGuard        = "no_guard"
)

// Finding is one thing that is wrong, or good to know.
type Finding struct {
	Code    string   `json:"code"`
	Level   Level    `json:"level"`
	Message string   `json:"message"` // what it is
	Meaning string   `json:"meaning"` // what it means
	Runs    []string `json:"runs,omitempty"`
	Path    string   `json:"path,omitempty"`
	PID     int      `json:"pid,omitempty"`
	// Type is what to type.
	Type []Line `json:"type"`
}

// Line is a command line that mends something, or tells more.
type Line struct {
	Command string `json:"command"`
	Does    string `json:"does,omitempty"`
}

// Store is what is examined.
type Store interface {
	store.Store
	store.Keeper
}

// Patient is what a doctor looks at, and with what.
type Patient struct {
	// Folder holds the store's files; "" if nothing is on disk.
	Folder string
	// Store is opened so that it may be damaged; nil if it could not be.
	Store Store
	// OpenError is why it could not be.
	OpenError error
	// Config is what is wrong with the settings; "" if nothing is.
	Config string
	// HasTool tells whether a tool can be called here.
	HasTool func(name string) bool
	// Program is found in the way that tools find it; nil is [exec.LookPath].
	Program func(name string) error
	// Guarded says that tools' processes have a guard.
	Guarded bool
	// Command makes a line to type of a culm command's words.
	Command func(words ...string) string
	// Space tells what is free on the disk of a folder; nil asks the system.
	Space func(folder string) (Space, error)
	Now   func() time.Time
}

// Report is what was found.
type Report struct {
	Identity   store.Identity
	Runs       int
	Unfinished int
	Findings   []Finding
}

// Worst is the level of the worst finding; "" if there is none.
func (r *Report) Worst() Level {
	for _, l := range []Level{Damage, Problem, Note} {
		if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == l }) {
			return l
		}
	}
	return ""
}

// Examine looks at everything. The error is for what kept it from looking.
func Examine(ctx context.Context, p Patient) (*Report, error) {
	x := &examination{ctx: ctx, p: p, report: &Report{Findings: []Finding{}}}
	for _, look := range []func() error{x.config, x.open, x.rights, x.space, x.store, x.runs, x.programs} {
		if err := look(); err != nil {
			return x.report, err
		}
	}
	slices.SortStableFunc(x.report.Findings, func(a, b Finding) int { return rank(a.Level) - rank(b.Level) })
	return x.report, nil
}

func rank(l Level) int { return slices.Index([]Level{Damage, Problem, Note}, l) }

type examination struct {
	ctx    context.Context
	p      Patient
	report *Report
}

func (x *examination) found(f Finding) { x.report.Findings = append(x.report.Findings, f) }

// culm is a culm command to type, and what it does.
func (x *examination) culm(does string, words ...string) Line {
	return typed(x.p.Command(words...), does)
}

func typed(command, does string) Line { return Line{command, does} }

func (x *examination) config() error {
	if x.p.Config != "" {
		x.found(Finding{
			Code: CodeInvalidConfig, Level: Problem, Message: x.p.Config,
			Meaning: "every culm command in this workspace is refused until it is mended",
			Type:    []Line{},
		})
	}
	return nil
}

func (x *examination) open() error {
	err := x.p.OpenError
	switch {
	case err == nil:
	case errors.Is(err, store.ErrNewerFormat):
		x.found(Finding{
			Code: CodeNewerFormat, Level: Damage, Path: x.p.Folder, Message: err.Error(),
			Meaning: "nothing of it is read or written by this version, so that nothing of it is lost",
			Type:    []Line{typed("culm version", "this one; use the one that wrote it, or a newer one")},
		})
	default:
		x.found(Finding{
			Code: CodeUnreadable, Level: Damage, Path: x.p.Folder, Message: err.Error(),
			Meaning: "no run can be started, continued or looked at",
			Type:    []Line{typed("ls -la "+x.p.Folder, "who may read and write it?")},
		})
	}
	return nil
}
