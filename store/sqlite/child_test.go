package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/sqlite"
)

// child is the whole of a child process; it returns its exit code.
func child(role string, args []string) int {
	if known, err := platformChild(role, args); known {
		if err != nil {
			return fail(err)
		}
		return 0
	}
	s, err := sqlite.Open(context.Background(), args[0], sqlite.Options{})
	if err != nil {
		return fail(err)
	}
	switch role {
	case "own":
		err = childOwn(s, args[1])
	case "claim":
		err = childClaim(s, args[1])
	case "commit":
		err = childCommit(s, args[1], args[2])
	default:
		err = fmt.Errorf("no such role: %s", role)
	}
	if err != nil {
		return fail(err)
	}
	if err := s.Close(); err != nil {
		return fail(err)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// waitLine waits for the parent to send a line or to go away.
func waitLine() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n') }

// childOwn makes a stream and keeps it.
func childOwn(s *sqlite.Store, stream string) error {
	if err := s.Commit(context.Background(), newStream(stream, `{"n":1}`)); err != nil {
		return err
	}
	fmt.Println("owns", os.Getpid())
	waitLine()
	return nil
}

// childClaim tries to take a stream over as soon as it is told to.
func childClaim(s *sqlite.Store, stream string) error {
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

// childCommit commits until it is told to stop, and says how often and how long
// the longest took.
func childCommit(s *sqlite.Store, stream, group string) error {
	ctx := context.Background()
	if err := s.Commit(ctx, newStream(stream)); err != nil {
		return err
	}
	size, err := strconv.Atoi(group)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	waitLine()
	stop := make(chan struct{})
	go func() {
		waitLine()
		close(stop)
	}()
	var longest time.Duration
	for last := uint64(0); ; last += uint64(size) {
		select {
		case <-stop:
			fmt.Println(last, longest.Milliseconds())
			return nil
		default:
		}
		b := appendTo(stream, last)
		for range size {
			b.Appends[0].Events = append(b.Appends[0].Events, []byte(`{}`))
		}
		start := time.Now()
		if err := s.Commit(ctx, b); err != nil {
			return err
		}
		longest = max(longest, time.Since(start))
	}
}
