package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/culm-dev/culm/internal/engine"
	"github.com/culm-dev/culm/store/sqlite"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

func BenchmarkSteps(b *testing.B) {
	var steps strings.Builder
	for i := range 10 {
		fmt.Fprintf(&steps, "  - {id: s%d, type: tool, tool: noop}\n", i)
	}
	def := []byte("workflow_schema: 1\nid: ten\nrevision: 1\nsteps:\n" + steps.String())
	noop := tool.MustFunc("noop", "does nothing", tool.Read, func(context.Context, tool.Call, struct{}) (any, error) { return nil, nil })
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "culm.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			e, err := engine.Open(b.Context(), st, engine.Config{Tools: []tool.Tool{noop}})
			if err != nil {
				b.Fatal(err)
			}
			src, err := workflow.Load("ten", def)
			if err != nil {
				b.Fatal(err)
			}
			prog, err := workflow.Compile(src, nil, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			var wg sync.WaitGroup
			runs := make(chan int)
			for range n {
				wg.Go(func() {
					for range runs {
						if _, err := e.Run(b.Context(), engine.Start{Program: prog}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for i := range b.N {
				runs <- i
			}
			close(runs)
			wg.Wait()
			b.ReportMetric(float64(b.N*10)/b.Elapsed().Seconds(), "steps/s")
			e.Close(context.Background())
		})
	}
}
