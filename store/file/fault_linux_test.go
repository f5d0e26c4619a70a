package file_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
	"golang.org/x/sys/unix"
)

// startOnSmallDisk starts a child, in namespaces of its own, that mounts a
// small file system on dir and fills it.
func startOnSmallDisk(t *testing.T, dir string) (*process, bool) {
	t.Helper()
	isolate := func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	p, err := tryChild(t, isolate, "small-disk", dir)
	if err != nil || p.next() != "mounted" {
		return nil, false
	}
	return p, true
}

func startWithFileLimit(t *testing.T, path string) (*process, bool) {
	t.Helper()
	return startChild(t, "file-limit", path), true
}

// platformChild are the roles of child processes that only this platform has.
func platformChild(role string, args []string) (known bool, err error) {
	switch role {
	case "small-disk":
		return true, childSmallDisk(args[0])
	case "file-limit":
		return true, childFileLimit(args[0])
	}
	return false, nil
}

// childSmallDisk fills a file system, waits, makes room and goes on.
func childSmallDisk(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		fmt.Println("cannot mount")
		return nil
	}
	fmt.Println("mounted")
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := file.Open(ctx, filepath.Join(dir, "store"), file.Options{})
	if err != nil {
		return err
	}
	last, full := fill(ctx, s)
	if errors.Is(full, store.ErrPoisoned) {
		return fmt.Errorf("a full disk poisoned the handle: %w", full)
	}
	fmt.Println("full after", last)
	waitLine()
	if err := os.Remove(filler); err != nil {
		return err
	}
	if err := s.Commit(ctx, appendTo("s", last, `{}`)); err != nil {
		return fmt.Errorf("commit once there is room: %w", err)
	}
	groups, err := s.Read(ctx, "s", 0, 1<<30)
	if err != nil || uint64(len(groups)) != last+1 {
		return fmt.Errorf("%d commits acknowledged, %d there, %w", last+1, len(groups), err)
	}
	fmt.Println("recovered")
	waitLine()
	return s.Close()
}

// childFileLimit runs into a limit that the kernel reports as EFBIG, which is no
// full disk: it is a failed write.
func childFileLimit(path string) error {
	ctx := context.Background()
	s, err := file.Open(ctx, path, file.Options{})
	if err != nil {
		return err
	}
	if err := s.Commit(ctx, newStream("s")); err != nil {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 300_000, Max: 300_000}); err != nil {
		return err
	}
	last, failure := uint64(0), error(nil)
	for ; failure == nil; last++ {
		failure = s.Commit(ctx, appendTo("s", last, strings.Repeat("x", 2000)))
	}
	last--
	for range 2 {
		if !errors.Is(failure, store.ErrPoisoned) {
			return fmt.Errorf("a failed write did not poison the handle: %w", failure)
		}
		failure = s.Commit(ctx, appendTo("s", last, `{}`))
	}
	if _, err := s.Head(ctx, "s"); err != nil {
		return fmt.Errorf("head after that: %w", err)
	}
	fmt.Println("poisoned after", last)
	waitLine()
	return nil
}

// fill commits until that fails, and returns how many succeeded.
func fill(ctx context.Context, s *file.Store) (last uint64, err error) {
	if err := s.Commit(ctx, newStream("s")); err != nil {
		return 0, err
	}
	for {
		if err := s.Commit(ctx, appendTo("s", last, strings.Repeat("x", 2000))); err != nil {
			return last, err
		}
		last++
	}
}
