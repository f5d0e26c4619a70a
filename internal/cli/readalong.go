package cli

import (
	"context"
	"maps"
	"slices"
	"sync"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/tool"
)

// readAlong shows what tools print in another process, where there is a place for
// it. It ends with the run or ctx; if there is no log to read, the tree goes on
// without.
func (f *follower) readAlong(ctx context.Context, runID string) *sync.WaitGroup {
	var reading sync.WaitGroup
	if _, tree := f.display.(*live); tree && !f.owned {
		reading.Go(func() { f.readLog(ctx, runID) })
	}
	return &reading
}

func (f *follower) readLog(ctx context.Context, runID string) {
	opts := culm.LogOptions{Session: culm.AnySession}
	latest := map[string]run.LogLine{} // of each step
	for line, err := range f.Logs(ctx, runID, opts) {
		if err != nil {
			return
		}
		opts.After = line.N
		latest[line.Step] = line
	}
	for _, step := range slices.Sorted(maps.Keys(latest)) {
		f.hearLine(latest[step])
	}
	opts.Follow = true
	for line, err := range f.Logs(ctx, runID, opts) {
		if err != nil {
			return
		}
		f.hearLine(line)
	}
}

func (f *follower) hearLine(line run.LogLine) {
	if line.Text != "" {
		f.heard(culm.ProgressLine{StepID: line.Step, Line: line.Text, Stream: tool.Stream(line.Stream)})
	}
}
