package shell_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/shell"
)

func TestExecReturnsExitCodeAndOutput(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		c := newCall(t, map[string]any{"argv": []string{"sh", "-c", `printf '%s' "$1"; cat >&2`, "sh", "a b; $HOME"}, "stdin": "to stderr\n"})
		got, err := run(t, opts, c)
		if err != nil {
			t.Fatal(err)
		}
		if got.ExitCode != 0 || string(got.Stdout) != `"a b; $HOME"` || string(got.Stderr) != `"to stderr\n"` {
			t.Errorf("got %d %s %s", got.ExitCode, got.Stdout, got.Stderr)
		}
		if lockHeld(t, c.LockPath) {
			t.Error("the step lock is held after the call")
		}
		if entries, _ := os.ReadDir(filepath.Dir(c.LockPath)); len(entries) != 0 {
			t.Errorf("the lock's file was left behind: %v", entries)
		}
	})
}

func TestExecFailures(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		for name, tc := range map[string]struct {
			args    map[string]any
			code    string // "" wants a plain error: the outcome is not known
			message string
		}{
			"exit status with the tail of stderr": {map[string]any{"shell": "echo broken >&2; exit 3"}, "execution_failed", "exit status 3: broken"},
			"status that is not accepted":         {map[string]any{"shell": "exit 0", "ok_exit_codes": []int{1}}, "execution_failed", "exit status 0"},
			"no such program":                     {map[string]any{"argv": []string{"no-such-program"}}, "not_found", `"no-such-program"`},
			"no such path":                        {map[string]any{"argv": []string{"./missing"}}, "not_found", "./missing"},
			"not executable":                      {map[string]any{"argv": []string{"./plain"}}, "permission_denied", "chmod +x"},
			"not a program":                       {map[string]any{"argv": []string{"./garbage"}}, "execution_failed", "could not start"},
			"no folder to run in":                 {map[string]any{"argv": []string{"true"}, "cwd": "missing"}, "not_found", "missing"},
			"a folder outside":                    {map[string]any{"argv": []string{"true"}, "cwd": "../.."}, "permission_denied", "outside the workspace"},
			"a folder outside by symlink":         {map[string]any{"argv": []string{"true"}, "cwd": "out"}, "permission_denied", "outside the workspace"},
			"neither argv nor shell":              {map[string]any{}, "invalid_input", "argv"},
			"both argv and shell":                 {map[string]any{"argv": []string{"true"}, "shell": "true"}, "invalid_input", "not both"},
			"a bad variable":                      {map[string]any{"argv": []string{"true"}, "env": map[string]string{"A=B": "x"}}, "invalid_input", "A=B"},
			"an unknown argument":                 {map[string]any{"argv": []string{"true"}, "timeout": 3}, "invalid_input", "timeout"},
			"killed by a signal":                  {map[string]any{"shell": "kill -9 $$"}, "", "signal 9"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newCall(t, tc.args)
				for file, mode := range map[string]os.FileMode{"plain": 0o600, "garbage": 0o700} {
					if err := os.WriteFile(filepath.Join(c.Workspace, file), []byte("\x00\x01"), mode); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Symlink(t.TempDir(), filepath.Join(c.Workspace, "out")); err != nil {
					t.Fatal(err)
				}
				_, err := run(t, opts, c)
				if err == nil || tool.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.message) {
					t.Errorf("got %v, want code %q and %q", err, tc.code, tc.message)
				}
				if lockHeld(t, c.LockPath) {
					t.Error("the step lock is held after the call")
				}
			})
		}
	})
}

func TestExecAcceptsExitCodes(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		got, err := run(t, opts, newCall(t, map[string]any{"shell": "exit 1", "ok_exit_codes": []int{0, 1}}))
		if err != nil || got.ExitCode != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// Whether a failure may be retried only the author of the call knows.
func TestExecFailuresAreRetryableAsToldTo(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		for code, want := range map[int]bool{75: true, 1: false} {
			script := fmt.Sprintf("exit %d", code)
			_, err := run(t, opts, newCall(t, map[string]any{"shell": script, "retry_exit_codes": []int{75, 0}}))
			var failure *tool.Failure
			if !errors.As(err, &failure) || failure.Code != "execution_failed" || failure.Retryable != want {
				t.Errorf("%s: got %v", script, err)
			}
		}
		if _, err := run(t, opts, newCall(t, map[string]any{"shell": "exit 0", "retry_exit_codes": []int{0}})); err != nil {
			t.Errorf("success: %v", err)
		}
	})
}

func TestExecRunsInWorkspaceFolder(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		c := newCall(t, map[string]any{"argv": []string{"./here"}, "cwd": "sub"})
		dir := filepath.Join(c.Workspace, "sub")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\npwd -P\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(t, opts, c)
		if want := fmt.Sprintf("%q", resolved+"\n"); err != nil || string(got.Stdout) != want {
			t.Errorf("got %s, %v, want %s", got.Stdout, err, want)
		}
	})
}

func TestExecDirOutsideOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	c := newCall(t, map[string]any{"argv": []string{"true"}, "cwd": outside})
	if _, err := run(t, shell.Options{}, c); tool.CodeOf(err) != "permission_denied" {
		t.Errorf("got %v", err)
	}
	if _, err := run(t, shell.Options{AnyDir: true}, c); err != nil {
		t.Errorf("got %v", err)
	}
	c.Workspace = ""
	if _, err := run(t, shell.Options{}, c); tool.CodeOf(err) != "permission_denied" {
		t.Errorf("without a workspace: %v", err)
	}
}

// Not parallel: it changes the environment of the test process.
func TestExecEnvironmentIsAnAllowList(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "leak")
	t.Setenv("LC_TIME", "C")
	t.Setenv("CI_JOB", "7")
	for name, guard := range map[string][]string{"guarded": guardCommand(), "direct": nil} {
		t.Run(name, func(t *testing.T) {
			c := newCall(t, map[string]any{"argv": []string{"env"}, "env": map[string]string{"MINE": "yes", "TERM": "dumb"}})
			got, err := run(t, shell.Options{Guard: guard, Env: []string{"CI_*"}}, c)
			if err != nil {
				t.Fatal(err)
			}
			var text string
			if err := json.Unmarshal(got.Stdout, &text); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(text, "\n")
			for _, want := range []string{
				"LC_TIME=C", "CI_JOB=7", "MINE=yes", "TERM=dumb", "PATH=" + os.Getenv("PATH"),
				"CULM_RUN_ID=run-1", "CULM_STEP_ID=build@root[2]", "CULM_ATTEMPT=1", "CULM_IDEMPOTENCY_KEY=key-1",
			} {
				if !slices.Contains(lines, want) {
					t.Errorf("the environment lacks %s:\n%s", want, text)
				}
			}
			if strings.Contains(text, "SECRET_TOKEN") {
				t.Errorf("a variable leaked:\n%s", text)
			}
		})
	}
}

func TestExecKeepsHeadAndTailOfLongOutput(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		opts.MaxOutput = 1000
		got, err := run(t, opts, newCall(t, map[string]any{"shell": "printf first; i=0; while [ $i -lt 3000 ]; do echo äöü$i; i=$((i+1)); done; printf last"}))
		if err != nil {
			t.Fatal(err)
		}
		var text string
		if err := json.Unmarshal(got.Stdout, &text); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(text, "first") || !strings.HasSuffix(text, "last") || !strings.Contains(text, "bytes left out ...]") || len(text) > 1100 {
			t.Errorf("got %d bytes: %q", len(text), text)
		}
		if !slices.Equal(got.Truncated, []string{"stdout"}) {
			t.Errorf("truncated is %v", got.Truncated)
		}
	})
}

func TestExecGivesBinaryOutputAsBase64(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		got, err := run(t, opts, newCall(t, map[string]any{"shell": `printf '\377\376ok'`}))
		if want := `{"base64":"` + base64.StdEncoding.EncodeToString([]byte("\xff\xfeok")) + `"}`; err != nil || string(got.Stdout) != want {
			t.Errorf("got %s, %v, want %s", got.Stdout, err, want)
		}
		opts.MaxOutput = 64
		got, err = run(t, opts, newCall(t, map[string]any{"shell": `i=0; while [ $i -lt 100 ]; do printf '\377\376'; i=$((i+1)); done`}))
		if err != nil {
			t.Fatal(err)
		}
		half := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\xff\xfe", 16)))
		if want := fmt.Sprintf(`{"base64":%q,"omitted_bytes":136,"tail_base64":%q}`, half, half); string(got.Stdout) != want {
			t.Errorf("got %s, want %s", got.Stdout, want)
		}
	})
}

func TestExecUnreadInputIsNoFailure(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		_, err := run(t, opts, newCall(t, map[string]any{"argv": []string{"true"}, "stdin": strings.Repeat("x", 1<<20)}))
		if err != nil {
			t.Error(err)
		}
	})
}

func TestExecCancelledBeforeStartIsDefinite(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := newCall(t, map[string]any{"shell": "touch started"})
		_, err := shell.New(opts).Call(ctx, c)
		if tool.CodeOf(err) != "cancelled" {
			t.Errorf("got %v", err)
		}
		if _, err := os.Stat(filepath.Join(c.Workspace, "started")); err == nil {
			t.Error("it was started")
		}
	})
}

func TestExecCancelled(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		for name, tc := range map[string]struct {
			onTerm  string
			succeed bool
		}{
			"dies":                    {"trap - TERM", false},
			"exits with failure":      {"trap 'exit 4' TERM", false},
			"ignores the request":     {"trap '' TERM", false},
			"finishes with a success": {"trap 'exit 0' TERM", true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newCall(t, map[string]any{"shell": tc.onTerm + "; sleep 300 & echo $! > child.pid; while :; do sleep 0.05; done"})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := shell.New(opts).Call(ctx, c)
					ended <- err
				}()
				child := filepath.Join(c.Workspace, "child.pid")
				eventually(t, 20*time.Second, "the program runs", func() bool { return pidIn(t, child) != 0 })
				cancel()
				err := <-ended
				if alive(pidIn(t, child)) || lockHeld(t, c.LockPath) {
					t.Error("the call returned while a process of it lives")
				}
				switch {
				case tc.succeed && err != nil:
					t.Errorf("a success that came in the grace was lost: %v", err)
				case !tc.succeed && (!errors.Is(err, context.Canceled) || tool.CodeOf(err) != ""):
					t.Errorf("got %v, want a plain error that wraps context.Canceled", err)
				}
			})
		}
	})
}

func TestExecEndsWhatOutlivesTheProgram(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		c := newCall(t, map[string]any{"shell": "sleep 300 & echo $! > child.pid; (sleep 0.3; echo late) & echo done"})
		got, err := run(t, opts, c)
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Stdout) != `"done\nlate\n"` {
			t.Errorf("a process that was about to end was not awaited: %s", got.Stdout)
		}
		if alive(pidIn(t, filepath.Join(c.Workspace, "child.pid"))) {
			t.Error("a process outlives the call")
		}
	})
}

func TestExecIsRefusedWhileAnEarlierAttemptLives(t *testing.T) {
	variants(t, func(t *testing.T, opts shell.Options) {
		first := newCall(t, map[string]any{"shell": "echo $$ > main.pid; exec sleep 300"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = shell.New(opts).Call(ctx, first)
		}()
		eventually(t, 20*time.Second, "the first attempt runs", func() bool {
			return pidIn(t, filepath.Join(first.Workspace, "main.pid")) != 0
		})
		second := newCall(t, map[string]any{"argv": []string{"true"}})
		second.LockPath = first.LockPath
		if _, err := run(t, opts, second); tool.CodeOf(err) != "still_running" {
			t.Errorf("got %v", err)
		}
		cancel()
		<-ended
		if _, err := run(t, opts, second); err != nil {
			t.Errorf("after the first attempt ended: %v", err)
		}
	})
}

func TestExecWithAGuardThatIsNone(t *testing.T) {
	t.Parallel()
	for _, guard := range [][]string{{"/no/such/guard"}, {"true"}} {
		_, err := run(t, shell.Options{Guard: guard}, newCall(t, map[string]any{"argv": []string{"true"}}))
		if tool.CodeOf(err) != "execution_failed" {
			t.Errorf("guard %v: %v, want a definite failure", guard, err)
		}
	}
}
