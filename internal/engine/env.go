package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/culm-dev/culm/internal/kernel"
)

// env gives templates at one place of a plan their values.
type env struct {
	ctx  context.Context // of one evaluation; never kept longer
	vals *values
	view kernel.View
	root string // root run id
	made time.Time
	step string // "" where no step is entered
	// attempt is the attempt that is entered, from 1.
	attempt int
}

func (e *env) Args() (any, error) { return e.vals.load(e.ctx, e.view.Args()) }

func (e *env) Step(name string) (any, bool, error)     { return e.value(e.view.Step(name)) }
func (e *env) Previous(name string) (any, bool, error) { return e.value(e.view.Previous(name)) }
func (e *env) Item(name string) (any, bool, error)     { return e.value(e.view.Item(name)) }
func (e *env) Outcome() (any, bool, error)             { return e.value(e.view.Outcome()) }

func (e *env) value(v kernel.Val, ok bool) (any, bool, error) {
	if !ok {
		return nil, false, nil
	}
	loaded, err := e.vals.load(e.ctx, v)
	return loaded, err == nil, err
}

func (e *env) Run() (map[string]any, error) {
	m := map[string]any{
		"run_id":      e.view.RunID(),
		"root_run_id": e.root,
		"created_at":  e.made.Format(time.RFC3339Nano),
	}
	if e.step != "" {
		m["step_id"] = e.step
		m["attempt"] = json.Number(strconv.Itoa(e.attempt))
		m["idempotency_key"] = idempotencyKey(e.root, e.step)
	}
	return m, nil
}

// idempotencyKey is constant over the attempts of a step instance of a run.
func idempotencyKey(rootRunID, instance string) string {
	sum := sha256.Sum256([]byte(rootRunID + "\x00" + instance))
	return hex.EncodeToString(sum[:16])
}
