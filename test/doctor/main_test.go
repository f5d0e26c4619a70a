//go:build unix

// Package doctor_test makes data directories sick, with real processes, and has the
// built culm look at them: each sickness is named, with what to type, and typing
// that mends it.
package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/cli"
	"github.com/culm-dev/culm/internal/doctor"
)

// binaryVariable holds the path of the built culm.
const binaryVariable = "CULM_DOCTOR_BINARY"

func TestMain(m *testing.M) { os.Exit(withCulm(m.Run)) }

// withCulm builds culm for the tests.
func withCulm(tests func() int) int {
	dir, err := os.MkdirTemp("", "culm-doctor")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "culm")
	// Go caches a test's result by the test's own binary: with culm in it, a result
	// is kept only as long as culm is the same.
	runtime.KeepAlive(cli.Main.Run)
	build := exec.Command("go", "build", "-o", binary, "../../cmd/culm")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build culm:", err)
		return 1
	}
	if err := os.Setenv(binaryVariable, binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}

// slow is a workflow that goes on until there is a file named go.
const slow = `workflow_schema: 1
id: slow
revision: 1
steps:
  - {id: first, type: tool, tool: echo, args: {value: said}}
  - {id: wait, type: tool, tool: exec, args: {shell: "echo x > began; while ! test -e go; do sleep 0.05; done"}}
  - {id: last, type: tool, tool: echo, args: {value: done}}
`

// place is a data directory and a workspace.
type place struct {
	*testing.T
	data, work string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir := t.TempDir()
	p := &place{T: t, data: filepath.Join(dir, "data"), work: filepath.Join(dir, "work")}
	if err := os.Mkdir(p.work, 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("slow.yaml", slow)
	t.Cleanup(func() { p.write("go", "go") }) // nothing waits for ever for a test that failed
	return p
}

func (p *place) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.work, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *place) has(name string) bool {
	_, err := os.Stat(filepath.Join(p.work, name))
	return err == nil
}

// command is a program that finds culm in its PATH, and the place by its variables.
func (p *place) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), name, args...)
	cmd.Dir = p.work
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "CULM_") || strings.HasPrefix(kv, "XDG_")
	})
	path := filepath.Dir(os.Getenv(binaryVariable)) + ":" + os.Getenv("PATH")
	cmd.Env = append(cmd.Env, "PATH="+path, "CULM_DATA="+p.data, "HOME="+p.work, "USER=ada")
	return cmd
}

// culm runs a command to its end, and gives what it printed.
func (p *place) culm(status int, args ...string) string {
	p.Helper()
	return p.run(status, p.command(os.Getenv(binaryVariable), args...))
}

func (p *place) run(status int, cmd *exec.Cmd) string {
	p.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != status {
		p.Fatalf("%s: exit status %d, want %d\n%s%s", strings.Join(cmd.Args, " "), got, status, &out, &errs)
	}
	return out.String()
}

// working starts the slow workflow, and returns its process once its call is in
// flight, and the run's id.
func (p *place) working() (*exec.Cmd, string) {
	p.Helper()
	cmd := p.command(os.Getenv(binaryVariable), "run", "slow.yaml", "--trust", "--allow", "exec")
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p.eventually("the call is in flight", func() bool { return p.has("began") })
	var row struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(p.culm(0, "list", "--limit", "1", "-o", "json")), &row); err != nil {
		p.Fatal(err)
	}
	return cmd, row.RunID
}

// suspended is a run that was stopped before its last step.
func (p *place) suspended() string {
	p.Helper()
	cmd, id := p.working()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		p.Fatal(err)
	}
	p.write("go", "go")
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 3 {
		p.Fatalf("it was stopped with exit status %d", status)
	}
	return id
}

func (p *place) eventually(what string, fact func() bool) {
	p.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for !fact() {
		select {
		case <-look.C:
		case <-deadline:
			p.Fatalf("it never came: %s", what)
		}
	}
}

// report is what culm doctor -o json prints.
type report struct {
	Healthy  bool             `json:"healthy"`
	Findings []doctor.Finding `json:"findings"`
}

// doctor has the doctor look, who must come to that exit status.
func (p *place) doctor(status int, flags ...string) *report {
	p.Helper()
	var r report
	if err := json.Unmarshal([]byte(p.culm(status, append([]string{"doctor", "-o", "json"}, flags...)...)), &r); err != nil {
		p.Fatal(err)
	}
	if r.Healthy != (status == 0) {
		p.Errorf("healthy: %v, exit status %d", r.Healthy, status)
	}
	return &r
}

// healthy checks that nothing needs anybody.
func (p *place) healthy(flags ...string) {
	p.Helper()
	p.doctor(0, flags...)
}

// sick checks that the doctor names a sickness, in words that people are told too,
// and returns the finding.
func (p *place) sick(status int, code string, words ...string) *doctor.Finding {
	p.Helper()
	r := p.doctor(status)
	i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Code == code })
	if i < 0 {
		p.Fatalf("%s was not found, only %+v", code, r.Findings)
	}
	f := &r.Findings[i]
	page := p.culm(status, "doctor")
	for _, word := range append(words, code, "That means: ") {
		if !strings.Contains(page, word) {
			p.Errorf("the page does not say %q:\n%s", word, page)
		}
	}
	for _, line := range f.Type {
		if !strings.Contains(page, line.Command) {
			p.Errorf("the page does not say to type %q:\n%s", line.Command, page)
		}
	}
	return f
}

// typed types a command that a finding advises: the one that begins so.
func (p *place) typed(f *doctor.Finding, begin string) string {
	p.Helper()
	for _, line := range f.Type {
		if strings.HasPrefix(line.Command, begin) {
			return p.run(0, p.command("sh", "-c", line.Command))
		}
	}
	p.Fatalf("nothing of %+v begins with %q", f.Type, begin)
	return ""
}
