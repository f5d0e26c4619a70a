package sample

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/builtin"
)

// World is what the runs act on. Its tools keep their names, schemas and effects for
// ever: runs of old samples have them pinned.
type World struct {
	// Mended makes the tools work and charge do what they fail to otherwise.
	Mended atomic.Bool
	// Halt is called by the tool halt. Nil returns at once.
	Halt func(ctx context.Context, c tool.Call)
	// Now is when the engine's time begins; it passes as it does.
	Now time.Time
}

// Made is when the making of a sample begins, in the time of its engines. It is in
// the past of every machine, so that nothing in a sample is newer than its clock.
func Made() time.Time { return time.Date(2026, 2, 14, 9, 0, 0, 0, time.UTC) }

// Later is after everything in a sample, and after what sleeps there is to wake up.
func Later() time.Time { return Made().Add(24 * time.Hour) }

// Open opens an engine over the store that url names, in this world.
func (w *World) Open(ctx context.Context, url string) (*culm.Engine, error) {
	st, err := local.OpenStore(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("open sample: %w", err)
	}
	return w.OpenOver(ctx, st)
}

// OpenOver opens an engine over a store, which it closes in the end.
func (w *World) OpenOver(ctx context.Context, st store.Store) (*culm.Engine, error) {
	catalog, err := catalog()
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	tools, err := w.tools()
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	engine, err := culm.Open(ctx, st, culm.Config{
		Tools: tools, Catalog: catalog, Clock: clock{w.Now, time.Now()}, By: "sample", CloseStore: true,
		Authority: run.Authority{Trusted: true, Allow: []string{tool.CapWrite}},
	})
	if err != nil {
		return nil, fmt.Errorf("open sample: %w", err)
	}
	return engine, nil
}

// tools are the world's own, and those of the built-in ones that do nothing.
func (w *World) tools() ([]tool.Tool, error) {
	var tools []tool.Tool
	for _, t := range builtin.Tools(builtin.Options{}) {
		if name := t.Spec().Name; name == "echo" || name == "json" {
			tools = append(tools, t)
		}
	}
	var errs []error
	add := func(t tool.Tool, err error) {
		tools, errs = append(tools, t), append(errs, err)
	}
	add(tool.Func("text", "gives a text of so many bytes", tool.Read, text))
	add(tool.Func("check", "refuses bad words", tool.Read, check))
	add(tool.Func("flaky", "fails when it is first tried", tool.Idempotent, flaky))
	add(tool.Func("work", "fails until the world is mended", tool.Write, w.work))
	add(tool.Func("charge", "does not know whether it did it, until the world is mended", tool.Write, w.charge))
	add(tool.Func("halt", "is where processes die", tool.Write, w.halt))
	return tools, errors.Join(errs...)
}

type nothing struct{}

type length struct {
	Bytes int `json:"bytes"`
}

func text(_ context.Context, _ tool.Call, in length) (string, error) {
	return strings.Repeat("all work and no play ", in.Bytes/21+1)[:in.Bytes], nil
}

type word struct {
	Word string `json:"word"`
}

func check(_ context.Context, _ tool.Call, in word) (string, error) {
	if in.Word == "bad" {
		return "", tool.Failed("rejected", false, "it is a bad word")
	}
	return in.Word + " is good", nil
}

func flaky(_ context.Context, c tool.Call, _ nothing) (int, error) {
	if c.Attempt == 1 {
		return 0, tool.Failed("", true, "not yet")
	}
	return c.Attempt, nil
}

func (w *World) work(context.Context, tool.Call, nothing) (string, error) {
	if !w.Mended.Load() {
		return "", tool.Failed("", false, "it is broken")
	}
	return "worked", nil
}

func (w *World) charge(context.Context, tool.Call, nothing) (string, error) {
	if !w.Mended.Load() {
		return "", errors.New("the line went dead")
	}
	return "charged", nil
}

func (w *World) halt(ctx context.Context, c tool.Call, _ nothing) (string, error) {
	if w.Halt != nil {
		w.Halt(ctx, c)
	}
	return "went on", ctx.Err()
}

// clock shows another day.
type clock struct{ day, began time.Time }

func (c clock) Now() time.Time { return c.day.Add(time.Since(c.began)) }

func (c clock) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}
