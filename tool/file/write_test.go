package file_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/file"
	"github.com/culm-dev/culm/tool/tooltest"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{"old": "old content", "dir/": "", "link": "->old"})
	must(t, os.Chmod(filepath.Join(ws, "old"), 0o640))
	write := file.NewWriteFile()
	check(t, write, ws, args{"path": "old", "content": "new"}, `{"path":"old","bytes":3}`, "")
	check(t, write, ws, args{"path": "old", "content": "new"}, `{"path":"old","bytes":3}`, "")
	check(t, write, ws, args{"path": "a/b/c", "base64": "/wA="}, `{"path":"a/b/c","bytes":2}`, "")
	check(t, write, ws, args{"path": "run.sh", "content": "#!/bin/sh\n", "executable": true}, `{"path":"run.sh","bytes":10}`, "")
	check(t, write, ws, args{"path": "log", "content": "1\n", "append": true}, `{"path":"log","bytes":2}`, "")
	check(t, write, ws, args{"path": "log", "content": "2\n", "append": true}, `{"path":"log","bytes":2}`, "")
	for name, want := range map[string]string{"old": "new", "a/b/c": "\xff\x00", "log": "1\n2\n"} {
		if got := read(t, filepath.Join(ws, name)); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]os.FileMode{"old": 0o640, "run.sh": 0o755} {
		info, err := os.Stat(filepath.Join(ws, name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
	check(t, write, ws, args{"path": "dir", "content": "x"}, "", "invalid_input")
	check(t, write, ws, args{"path": "link", "content": "x"}, "", "invalid_input")
	check(t, write, ws, args{"path": "old/below", "content": "x"}, "", "execution_failed")
	check(t, write, ws, args{"path": "x", "base64": "?"}, "", "invalid_input")
	left, err := filepath.Glob(filepath.Join(ws, "*", ".culm-*"))
	if more, err2 := filepath.Glob(filepath.Join(ws, ".culm-*")); err != nil || err2 != nil || len(left)+len(more) > 0 {
		t.Errorf("temporary files were left behind: %v %v", left, more)
	}
}

func TestWriteFileEffectDependsOnAppend(t *testing.T) {
	t.Parallel()
	of := file.NewWriteFile()
	for in, want := range map[string]tool.Effect{
		`{"path":"a","content":"x"}`:                tool.Idempotent,
		`{"path":"a","content":"x","append":false}`: tool.Idempotent,
		`{"path":"a","content":"x","append":true}`:  tool.Write,
		`{"nonsense":1}`:                            tool.Write,
	} {
		if got := tool.EffectOfCall(of, json.RawMessage(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// A reader sees the old content or the new, never a part or nothing.
func TestWriteFileIsAtomic(t *testing.T) {
	t.Parallel()
	contents := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<17)}
	ws := newWorkspace(t, map[string]string{"f": contents[0]})
	var writing sync.WaitGroup
	done := make(chan struct{})
	writing.Go(func() {
		defer close(done)
		for i := range 40 {
			if _, err := tooltest.Call(t, file.NewWriteFile(), ws, args{"path": "f", "content": contents[i%2]}); err != nil {
				t.Error(err)
			}
		}
	})
	defer writing.Wait()
	for {
		got := read(t, filepath.Join(ws, "f"))
		if got != contents[0] && got != contents[1] {
			t.Fatalf("saw %d bytes that nobody wrote", len(got))
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// What a crash left between writing and renaming goes away with the next attempt.
func TestWriteFileRemovesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	must(t, os.WriteFile(filepath.Join(ws, tempNameOf(t)), []byte("half"), 0o600))
	check(t, file.NewWriteFile(), ws, args{"path": "f", "content": "whole"}, `{"path":"f","bytes":5}`, "")
	entries, err := os.ReadDir(ws)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// tempNameOf finds the temporary name of a write to "f" by watching for it.
func tempNameOf(t *testing.T) string {
	t.Helper()
	for range 1000 {
		ws := t.TempDir()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = tooltest.Call(t, file.NewWriteFile(), ws, args{"path": "f", "content": strings.Repeat("x", 1<<20)})
		}()
		name := ""
		for running := true; running && name == ""; {
			found, _ := filepath.Glob(filepath.Join(ws, ".culm-*"))
			if len(found) > 0 {
				name = filepath.Base(found[0])
			}
			select {
			case <-done:
				running = false
			default:
			}
		}
		<-done
		if name != "" {
			return name
		}
	}
	t.Fatal("no temporary file was ever seen")
	return ""
}

func TestWriteFileWhereNothingMayBeWritten(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	ws := newWorkspace(t, map[string]string{"f": "old"})
	must(t, os.Chmod(ws, 0o500))
	t.Cleanup(func() { _ = os.Chmod(ws, 0o700) })
	check(t, file.NewWriteFile(), ws, args{"path": "f", "content": "new"}, "", "permission_denied")
	if got := read(t, filepath.Join(ws, "f")); got != "old" {
		t.Errorf("holds %q", got)
	}
}
