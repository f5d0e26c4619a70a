package file_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/file"
)

// dead is the exit status of a child that died at a point; the points count on from it.
const dead = 101

// child is the whole of a child process; it returns its exit code.
func child(role string, args []string) int {
	if known, err := platformChild(role, args); known {
		return status(err)
	}
	opt := file.Options{}
	if role == "die" {
		opt = dying(args[1], args[2])
	}
	s, err := file.Open(context.Background(), args[0], opt)
	if err != nil {
		return status(err)
	}
	switch role {
	case "own":
		err = childOwn(s, args[1])
	case "claim":
		err = childClaim(s, args[1])
	case "commit":
		err = childCommit(s, args[1])
	case "work", "die":
		err = childWork(s)
	default:
		err = fmt.Errorf("no such role: %s", role)
	}
	return status(errors.Join(err, s.Close()))
}

func status(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// dying are options with which the process is gone when it comes to a point for the
// time given. The redo log begins anew every few commits.
func dying(at, time string) file.Options {
	left, err := strconv.Atoi(time)
	if err != nil {
		panic(err)
	}
	return file.Hooked(func(p string) {
		if p != at {
			return
		}
		if left--; left == 0 {
			os.Exit(dead + slices.Index(file.Points, at))
		}
	}, 16<<10)
}

// waitLine waits for the parent to send a line or to go away.
func waitLine() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n') }

// childOwn makes a stream and keeps it.
func childOwn(s *file.Store, stream string) error {
	if err := s.Commit(context.Background(), newStream(stream, `{"n":1}`)); err != nil {
		return err
	}
	fmt.Println("owns", os.Getpid())
	waitLine()
	return nil
}

// childClaim tries to take a stream over as soon as it is told to.
func childClaim(s *file.Store, stream string) error {
	fmt.Println("ready")
	waitLine()
	ctx := context.Background()
	c, err := s.Claim(ctx, stream)
	if errors.Is(err, store.ErrOwned) {
		fmt.Println("owned elsewhere")
		waitLine()
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	b := appendTo(stream, 1, fmt.Sprintf(`{"by":%d}`, os.Getpid()))
	b.Appends[0].Claim = c
	if err := s.Commit(ctx, b); err != nil {
		return err
	}
	fmt.Println("won")
	waitLine()
	return nil
}

// childCommit commits until it is told to stop, and says how often it did.
func childCommit(s *file.Store, stream string) error {
	ctx := context.Background()
	if err := s.Commit(ctx, newStream(stream)); err != nil {
		return err
	}
	fmt.Println("ready")
	waitLine()
	stop := make(chan struct{})
	go func() {
		waitLine()
		close(stop)
	}()
	for last := uint64(0); ; last++ {
		select {
		case <-stop:
			fmt.Println(last)
			return nil
		default:
		}
		if err := s.Commit(ctx, appendTo(stream, last, event(last+1))); err != nil {
			return err
		}
	}
}

// childWork does the work of work for ever, and says what was acknowledged.
func childWork(s *file.Store) error {
	for n := uint64(0); ; n++ {
		if err := s.Commit(context.Background(), work(n)); err != nil {
			return err
		}
		fmt.Println(n + 1)
	}
}
