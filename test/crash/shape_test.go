//go:build unix

package crash_test

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/workflow"
)

//go:embed testdata
var testdata embed.FS

// shape is a workflow to be killed in: the zoo, with every kind of node, the cleanups,
// or a random one, of all of which the reference interpreter knows the result.
type shape struct {
	// Random is the seed of a random definition; 0 stands for a written one.
	Random int
	// Cleanups stands for cleanup.yaml; without it, and Random, it is the zoo.
	Cleanups bool
	// Calm keeps parallels of random definitions from failing.
	Calm        bool
	Concurrency int64
}

func (sh shape) String() string {
	switch {
	case sh.Cleanups:
		return "cleanups"
	case sh.Random == 0:
		return "zoo"
	}
	return fmt.Sprintf("random %d (calm %v, concurrency %d)", sh.Random, sh.Calm, sh.Concurrency)
}

// drawn is a shape's definition and arguments.
func (sh shape) drawn() (*randdef.Case, error) {
	if sh.Random != 0 {
		return randdef.Cases(randdef.Config{Calm: sh.Calm, Concurrency: sh.Concurrency}).Example(sh.Random), nil
	}
	names := []string{"zoo", "inner", "brittle"}
	if sh.Cleanups {
		names = []string{"cleanup", "cleanup-inner"}
	}
	var sources []*workflow.Source
	for _, name := range names {
		text, err := testdata.ReadFile("testdata/" + name + ".yaml")
		if err != nil {
			return nil, err
		}
		source, err := workflow.Load(name+".yaml", text)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	program, err := workflow.Compile(sources[0], workflow.NewSnapshot(sources...), unknownTools)
	if err != nil {
		return nil, err
	}
	limits, err := workflow.Effective(sources[0].Definition().Budgets, nil, nil)
	if err != nil {
		return nil, err
	}
	args, err := canon.Decode([]byte(`{"flag":true,"list":[0,1,2],"v":"zoo"}`))
	return &randdef.Case{Bundle: program.Bundle, Args: args, Limits: limits}, err
}

// unknownTools lets definitions be read without their tools.
func unknownTools(string) (input, output json.RawMessage, ok bool) { return nil, nil, false }

// expected is what the shape comes to if nobody kills it.
func (sh shape) expected() (*reference.Result, error) {
	c, err := sh.drawn()
	if err != nil {
		return nil, err
	}
	return reference.Run(c.Bundle, c.Options())
}

// shape starts the run of a shape, or finds the one that an earlier process started,
// and finishes it.
func (w *worker) shape(ctx context.Context) error {
	c, err := w.task.Shape.drawn()
	if err != nil {
		return err
	}
	program, err := workflow.CompileBundle(c.Bundle, unknownTools)
	if err != nil {
		return err
	}
	args, err := canon.Encode(c.Args)
	if err != nil {
		return err
	}
	w.begin()
	v, err := w.Start(ctx, culm.Start{Program: program, Args: args, Key: "round"})
	if err != nil {
		return err
	}
	w.task.Run = v.RunID
	if err := say(report{Began: v}); err != nil {
		return err
	}
	if v.Owner != nil && v.Owner.Alive {
		if _, err := w.Wait(ctx, v.RunID); err != nil {
			return err
		}
	}
	return w.finish(ctx, v.RunID)
}
