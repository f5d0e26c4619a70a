// Package script_test drives the built culm as people do: each file in testdata
// reads like a session at a terminal.
package script_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/culm-dev/culm/internal/cli"
)

func TestMain(m *testing.M) { os.Exit(withCulm(m.Run)) }

// withCulm builds culm and puts it into PATH.
func withCulm(tests func() int) int {
	dir, err := os.MkdirTemp("", "culm-script")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Go caches a test's result by the test's own binary: with culm in it, a result
	// is kept only as long as culm is the same.
	runtime.KeepAlive(cli.Main.Run)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "culm"), "../../cmd/culm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build culm:", err)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	examples := readExamples(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("EXAMPLES", examples)
			e.Setenv("USER", "ada")
			e.Setenv("TERM", "xterm")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"setvar":     setvar,
			"waitfile":   waitfile,
			"eventually": eventually,
			"status":     status,
			"lines":      lines,
		},
		RequireUniqueNames: true,
	})
}

// readExamples gives the folder of the examples. It reads them, so that a result
// is cached only as long as they are the same.
func readExamples(t *testing.T) string {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(examples, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return examples
}

// setvar NAME stdout|stderr|FILE REGEXP sets NAME to what the first group matches.
func setvar(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: setvar NAME stdout|stderr|FILE REGEXP")
	}
	m := regexp.MustCompile("(?m)" + args[2]).FindStringSubmatch(ts.ReadFile(args[1]))
	if len(m) != 2 {
		ts.Fatalf("%s does not match %s", args[1], args[2])
	}
	ts.Setenv(args[0], m[1])
}

// waitfile FILE REGEXP waits until a file's content matches.
func waitfile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfile FILE REGEXP")
	}
	want := regexp.MustCompile("(?m)" + args[1])
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && want.Match(content) {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			ts.Fatalf("%s never matched %s", args[0], want)
		}
	}
}

// eventually COMMAND... runs a command that changes nothing unless it succeeds, until
// it does: what was killed may take some time to be gone.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually COMMAND...")
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(time.Minute)
	for {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			ts.Fatalf("%s never succeeded: %v", args[0], err)
		}
	}
}

// status N COMMAND... runs a command that must exit with that status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// lines N FILE checks how many lines a file has.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	if got := strings.Count(ts.ReadFile(args[1]), "\n"); fmt.Sprint(got) != args[0] {
		ts.Fatalf("%s has %d lines, want %s", args[1], got, args[0])
	}
}
