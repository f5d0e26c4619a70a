// Command checker proves that the runs of a data directory are as Culm promises:
//
//	go run ./test/checker DIR [EFFECTLOG]
//
// DIR holds culm.db; EFFECTLOG is the side-effect log that the runs' tools wrote.
// It prints one line for each broken promise. Exit status: 0 if there is none,
// 1 if there are some, 2 if it could not look.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/culm-dev/culm/internal/testkit/checker"
	"github.com/culm-dev/culm/internal/testkit/effectlog"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) < 1 || len(args) > 2 {
		fmt.Fprintln(stderr, "usage: checker DIR [EFFECTLOG]")
		return 2
	}
	journals, err := checker.Read(args[0])
	if err != nil {
		fmt.Fprintln(stderr, "checker:", err)
		return 2
	}
	var effects []effectlog.Line
	if len(args) == 2 {
		if effects, err = effectlog.Read(args[1]); err != nil {
			fmt.Fprintln(stderr, "checker:", err)
			return 2
		}
	}
	found := checker.Check(journals, effects)
	for _, f := range found {
		fmt.Fprintln(stdout, f)
	}
	fmt.Fprintf(stderr, "checked %d runs and %d effects: %d findings\n", len(journals), len(effects), len(found))
	if len(found) > 0 {
		return 1
	}
	return 0
}
