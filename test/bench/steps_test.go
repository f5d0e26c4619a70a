// Package bench_test measures what durable steps cost, beside the least that
// anything durable can cost on the same disk: a bare append log that shares its
// syncs and syncs twice a step.
//
//	go test ./test/bench -bench . -benchtime 300x
package bench_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

const stepsPerRun = 10

// BenchmarkSteps runs workflows of 10 no-op steps, 1, 16 or 64 at once. One
// operation is one run.
func BenchmarkSteps(b *testing.B) {
	for _, concurrent := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("runs=%d/floor", concurrent), func(b *testing.B) {
			log := openFloor(b)
			record := []byte(strings.Repeat("x", 300) + "\n")
			together(b, concurrent, func() error {
				for range 2 * stepsPerRun {
					if err := log.append(record); err != nil {
						return err
					}
				}
				return nil
			})
		})
		for name, url := range map[string]string{"culm": "sqlite:", "culm-file": "file:"} {
			b.Run(fmt.Sprintf("runs=%d/%s", concurrent, name), func(b *testing.B) {
				eng := openEngine(b, url+filepath.Join(b.TempDir(), "data"))
				prog := tenSteps(b)
				together(b, concurrent, func() error {
					v, err := eng.Run(b.Context(), culm.Start{Program: prog})
					if err == nil && v.Status != "succeeded" {
						err = fmt.Errorf("run %s: %v", v.Status, v.Failure)
					}
					return err
				})
			})
		}
	}
}

// together does b.N operations, n at a time.
func together(b *testing.B, n int, op func() error) {
	b.Helper()
	work := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range work {
				if err := op(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N*stepsPerRun)/b.Elapsed().Seconds(), "steps/s")
}

func openEngine(b *testing.B, url string) *culm.Engine {
	b.Helper()
	noop := tool.MustFunc("noop", "does nothing", tool.Read,
		func(context.Context, tool.Call, struct{}) (any, error) { return nil, nil })
	eng, err := local.Open(b.Context(), url, culm.Config{Tools: []tool.Tool{noop}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := eng.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return eng
}

func tenSteps(b *testing.B) *workflow.Program {
	b.Helper()
	var def strings.Builder
	def.WriteString("workflow_schema: 1\nid: ten\nrevision: 1\nsteps:\n")
	for i := range stepsPerRun {
		fmt.Fprintf(&def, "  - {id: s%d, type: tool, tool: noop}\n", i)
	}
	src, err := workflow.Load("ten.yaml", []byte(def.String()))
	if err != nil {
		b.Fatal(err)
	}
	prog, err := workflow.Compile(src, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	return prog
}
