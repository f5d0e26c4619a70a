package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/app"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// Engine is what commands call; *culm.Engine is one.
type Engine interface {
	Start(ctx context.Context, s culm.Start) (*run.View, error)
	Preview(ctx context.Context, s culm.Start) (*culm.Preview, error)
	Wait(ctx context.Context, runID string) (*run.View, error)
	Progress(ctx context.Context, runID string, o culm.ProgressOptions) (*run.View, error)
	Subscribe(ctx context.Context, runID string, since uint64) iter.Seq2[run.Event, error]
	Logs(ctx context.Context, runID string, o culm.LogOptions) iter.Seq2[run.LogLine, error]
	Recover(ctx context.Context) ([]culm.Recovered, error)
	RecoverRun(ctx context.Context, runID string) (*run.View, error)
	Continue(ctx context.Context, runID string, o culm.ContinueOptions) (*run.View, error)
	Restart(ctx context.Context, runID string, o culm.RestartOptions) (*run.View, error)
	Resolve(ctx context.Context, runID, step string, r culm.Resolution) (*culm.Receipt, error)
	Cancel(ctx context.Context, runID string, o culm.CancelOptions) (*culm.Receipt, error)
	List(ctx context.Context, q store.Query) (*culm.Page, error)
	FindRun(ctx context.Context, prefixOrTail string) (string, error)
	Export(ctx context.Context, runID string) (*culm.Exported, error)
	ExportRaw(ctx context.Context, runID string, w io.Writer) error
	Import(ctx context.Context, x *store.Extract) (*culm.Imported, error)
	Collect(ctx context.Context, o culm.CollectOptions, removed func(culm.Collected)) (culm.Reclaimed, error)
	Stop(ctx context.Context) error
	Close(ctx context.Context) error
}

// opened is an engine over the store that flags and settings name.
type opened struct {
	Engine
	in     *invocation
	config *config
	lines  chan culm.ProgressLine // what running tools say about themselves, and print

	stopping sync.WaitGroup
}

// open opens the engine; close must be called.
func (in *invocation) open(ctx context.Context) (*opened, error) {
	cfg, err := in.loadConfig()
	if err != nil {
		return nil, err
	}
	url, err := in.global.storeURL(cfg)
	if err != nil {
		return nil, err
	}
	return in.openStore(ctx, cfg, url)
}

// openStore opens the engine over a store that flags and settings may not name.
func (in *invocation) openStore(ctx context.Context, cfg *config, url string) (*opened, error) {
	var err error
	o := &opened{in: in, config: cfg, lines: make(chan culm.ProgressLine, 256)}
	o.Engine, err = app.Open(ctx, app.Config{
		Store: url, Workspace: in.global.workspace, Ceilings: cfg.Ceilings, Rerun: cfg.Rerun,
		Executable: in.Executable, By: in.operator(), Logger: in.logger(), Progress: o.heard,
	})
	if err != nil {
		return nil, openFailure(url, err)
	}
	return o, nil
}

// anyUnless is the session that a call must match: any, unless one is named.
func anyUnless(session string) string {
	if session == "" {
		return culm.AnySession
	}
	return session
}

// heard passes a line on if someone keeps up with listening.
func (o *opened) heard(line culm.ProgressLine) {
	select {
	case o.lines <- line:
	default:
	}
}

// close gives up what the engine owns. Its error matters only if nothing else
// went wrong.
func (o *opened) close(ctx context.Context, err *error) {
	o.in.onInterrupt.Store(nil)
	o.stopping.Wait()
	if closing := o.Engine.Close(context.WithoutCancel(ctx)); closing != nil && *err == nil {
		*err = fmt.Errorf("close engine: %w", closing)
	}
}

func openFailure(url string, err error) error {
	f := failureOf(err)
	if f.Code == codeInternal {
		return &Failure{Exit: ExitStorage, Code: codeStorage, Message: fmt.Sprintf("open %s: %v", url, err)}
	}
	return f
}

// operator names who acts, for the journal.
func (in *invocation) operator() string {
	if name := in.Env("USER"); name != "" {
		return "cli:" + name
	}
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return fmt.Sprintf("cli:%d", os.Getuid())
}

// logger writes warnings to people. Programs read only errors there.
func (in *invocation) logger() *slog.Logger {
	if in.global.json() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(in.warnings())
}

// find gives the id of the run that a prefix or tail names.
func (o *opened) find(ctx context.Context, name string) (string, error) {
	id, err := o.FindRun(ctx, name)
	if err != nil {
		f := failureOf(err)
		if f.Code == codeNotFound {
			f.Help = slices.DeleteFunc(f.Help, func(hint string) bool { return strings.HasPrefix(hint, "culm list") })
			f.help("To see the runs here: %s", o.in.command("list"))
		}
		return "", f
	}
	return id, nil
}
