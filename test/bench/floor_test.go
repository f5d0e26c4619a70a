package bench_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// floor is a bare append log: what queued during one sync is written and synced
// together with the next.
type floor struct {
	file *os.File

	mu      sync.Mutex
	queue   []appended
	working bool
}

type appended struct {
	record []byte
	done   chan error
}

func openFloor(b *testing.B) *floor {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	return &floor{file: f}
}

// append returns once the record is durable.
func (f *floor) append(record []byte) error {
	a := appended{record, make(chan error, 1)}
	f.mu.Lock()
	f.queue = append(f.queue, a)
	lead := !f.working
	f.working = true
	f.mu.Unlock()
	if lead {
		f.lead()
	}
	return <-a.done
}

// lead writes groups until the queue is empty.
func (f *floor) lead() {
	for {
		f.mu.Lock()
		group := f.queue
		f.queue = nil
		if len(group) == 0 {
			f.working = false
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
		err := f.write(group)
		for _, a := range group {
			a.done <- err
		}
	}
}

func (f *floor) write(group []appended) error {
	var buf []byte
	for _, a := range group {
		buf = append(buf, a.record...)
	}
	if _, err := f.file.Write(buf); err != nil {
		return err
	}
	return fdatasync(f.file)
}
