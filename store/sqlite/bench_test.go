package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
)

// BenchmarkCommit measures commits of one event of about 300 bytes beside the
// least that anything durable can do on this disk: a log that is appended to and
// synced. Each is run alone and by many at once; the floor of many is a log
// that shares its syncs.
//
// The disk's mood changes from second to second, so compare the two of a line
// only over several runs (-count=5).
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("writers=%d/floor", writers), func(b *testing.B) { benchmarkFloor(b, writers) })
		b.Run(fmt.Sprintf("writers=%d/store", writers), func(b *testing.B) { benchmarkStore(b, writers) })
	}
}

// BenchmarkRatio runs both of them turn by turn in short stretches, so that both
// meet the same disk, and reports the rate of the store as a part of the
// floor's: the median over the stretches, which a disk that stalls for a moment
// does not move.
func BenchmarkRatio(b *testing.B) {
	const stretch = 50
	log := newFloorLog(b)
	commit := newCommitter(b, openBench(b), "s")
	event := benchEvent()
	var floors, ours, ratios []float64
	for b.Loop() {
		start := time.Now()
		for range stretch {
			log.append(event)
		}
		middle := time.Now()
		for range stretch {
			commit(event)
		}
		floor, our := middle.Sub(start).Seconds()/stretch, time.Since(middle).Seconds()/stretch
		floors, ours, ratios = append(floors, floor), append(ours, our), append(ratios, floor/our)
	}
	b.ReportMetric(median(ratios), "of-floor")
	b.ReportMetric(median(ours)*1e6, "us/commit")
	b.ReportMetric(median(floors)*1e6, "us/floor")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

func benchEvent() []byte {
	return fmt.Appendf(nil, `{"type":"step_started","note":%q}`, strings.Repeat("x", 264))
}

func openBench(b *testing.B) *sqlite.Store {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "culm.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// newCommitter makes a stream and returns what appends to it.
func newCommitter(b *testing.B, s *sqlite.Store, name string) func(event []byte) {
	if err := s.Commit(b.Context(), newStream(name)); err != nil {
		b.Fatal(err)
	}
	last := uint64(0)
	return func(event []byte) {
		err := s.Commit(b.Context(), &store.Batch{Appends: []store.Append{{Stream: name, Expect: last, Events: [][]byte{event}}}})
		if err != nil {
			b.Error(err)
		}
		last++
	}
}

func benchmarkStore(b *testing.B, writers int) {
	s := openBench(b)
	commits := make([]func([]byte), writers)
	for i := range commits {
		commits[i] = newCommitter(b, s, fmt.Sprint("s", i))
	}
	share(b, writers, func(writer int) { commits[writer](benchEvent()) })
}

func benchmarkFloor(b *testing.B, writers int) {
	log := newFloorLog(b)
	share(b, writers, func(int) { log.append(benchEvent()) })
}

// share has b.N operations done by several goroutines.
func share(b *testing.B, writers int, op func(writer int)) {
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		n := b.N / writers
		if w < b.N%writers {
			n++
		}
		wg.Go(func() {
			for range n {
				op(w)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// floorLog is a log file whose appends share syncs: what comes during a sync is
// written and synced together by the next.
type floorLog struct {
	b    *testing.B
	file *os.File

	mu      sync.Mutex
	pending []byte
	waiting chan struct{} // closed when what is pending is durable
	syncing sync.Mutex
}

func newFloorLog(b *testing.B) *floorLog {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return &floorLog{b: b, file: f, waiting: make(chan struct{})}
}

func (l *floorLog) append(event []byte) {
	l.mu.Lock()
	l.pending = append(append(l.pending, event...), '\n')
	done := l.waiting
	l.mu.Unlock()

	l.syncing.Lock()
	defer l.syncing.Unlock()
	select {
	case <-done:
		return
	default:
	}
	l.mu.Lock()
	group := l.pending
	l.pending, l.waiting = nil, make(chan struct{})
	l.mu.Unlock()
	if _, err := l.file.Write(group); err != nil {
		l.b.Error(err)
	}
	if err := fdatasync(l.file); err != nil {
		l.b.Error(err)
	}
	close(done)
}
