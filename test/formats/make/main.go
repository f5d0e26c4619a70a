// Command make makes samples of what this version keeps:
//
//	go run ./test/formats/make DIR
//
// It writes DIR/sqlite-N, DIR/file-N and DIR/export-N, N being the format of each,
// and refuses to write over one that is there: samples of a format are made once,
// and kept for ever. A sample has the data as it was left, in data, and what this
// version shows of each run, in seen.jsonl. See docs/formats.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/culm-dev/culm/test/formats/sample"
)

func main() {
	if err := do(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func do(ctx context.Context, args []string) error {
	switch {
	case len(args) == 3 && args[0] == sample.DieArg:
		return sample.Die(ctx, args[1], sample.Death(args[2]))
	case len(args) != 1:
		return errors.New("expected the folder in which to make samples: go run ./test/formats/make DIR")
	}
	dir, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	made, err := sample.MakeAll(ctx, dir, sample.DiesAs(self))
	for _, folder := range made {
		fmt.Println(folder)
	}
	return err
}
