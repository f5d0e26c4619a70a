//go:build unix

package crash_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/culm-dev/culm"
)

// charge is a workflow whose middle step has its effect and then goes on until there
// is a file named go; its processes write their ids into files.
const charge = `workflow_schema: 1
id: charge
revision: 1
steps:
  - id: before
    type: tool
    tool: exec
    args: {shell: EFFECT}
  - id: charge
    type: tool
    tool: exec
    args:
      shell: |
        EFFECT
        BESIDE
        echo $PPID > guard.pid
        echo $$ > main.pid
        while ! test -e go; do sleep 0.05; done
  - id: after
    type: tool
    tool: exec
    args: {shell: EFFECT}
output: {text: ["charged ", {from: step, step: charge, pointer: /exit_code}]}
`

// stubborn is a child that takes no notice of SIGTERM.
const stubborn = `sh -c 'trap "" TERM; echo $$ > child.pid; while :; do sleep 0.05; done' &`

// effect is a script that appends one line to the log of effects.
const effect = `printf '{"run":"%s","step":"%s","attempt":%s,"key":"%s"}\n' "$CULM_RUN_ID" "$CULM_STEP_ID" "$CULM_ATTEMPT" "$CULM_IDEMPOTENCY_KEY" >> effects.jsonl`

// workflow writes a definition in which EFFECT stands for a script with an effect,
// and BESIDE for what is started beside it.
func (s *site) workflow(name, text, beside string) {
	s.t.Helper()
	quoted := strconv.Quote(effect)
	text = strings.ReplaceAll(text, "shell: EFFECT", "shell: "+quoted)
	s.write(name, strings.NewReplacer("EFFECT", effect, "BESIDE", beside).Replace(text))
	s.t.Cleanup(s.letGo) // nothing waits for ever for a test that failed
}

// charging starts the charge, and returns when its middle step is at work.
func charging(t testing.TB, beside string) (*site, *process) {
	t.Helper()
	s := newSite(t)
	s.workflow("charge.yaml", charge, beside)
	p := s.startCulm("run", "charge.yaml", "--trust", "--allow", "exec")
	s.atWork()
	return s, p
}

// atWork waits until the charge's middle step is at work.
func (s *site) atWork() {
	s.t.Helper()
	eventually(s.t, "the step is at work", func() bool { return s.has("main.pid") })
	s.recorded("step_started", "charge")
}

// letGo lets the middle step end.
func (s *site) letGo() { s.write("go", "go") }

// pid reads a process id that a step has written.
func (s *site) pid(file string) int {
	s.t.Helper()
	pid, err := strconv.Atoi(s.read(file))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// sweep kills processes of steps that outlive the test because it failed.
func (s *site) sweep(pids ...int) {
	s.t.Cleanup(func() {
		for _, pid := range pids {
			if alive(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
}

// list is what culm list says, newest first.
func (s *site) list() []culm.Summary {
	s.t.Helper()
	return lines[culm.Summary](s.culm(0, "list", "-o", "json"))
}

// only is the one run that there is.
func (s *site) only() culm.Summary {
	s.t.Helper()
	all := s.list()
	if len(all) != 1 {
		s.t.Fatalf("%d runs are listed, want one", len(all))
	}
	return all[0]
}

// tail is the end of a run's id, by which people name it.
func tail(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

// wantOwner checks what is listed of the only run.
func (s *site) wantOwner(status string, alive bool) culm.Summary {
	s.t.Helper()
	r := s.only()
	if string(r.Status) != status || r.Owner == nil || r.Owner.Alive != alive {
		s.t.Errorf("listed as %s with owner %+v; want %s, alive %v", r.Status, r.Owner, status, alive)
	}
	return r
}

// wantText checks what culm list tells people.
func (s *site) wantText(words ...string) {
	s.t.Helper()
	s.culm(0, "list").wantSaid(words...)
}

// looks reports whether a process has opened the database. Where there is no /proc to
// tell, it reports whether the process has been started.
func (p *process) looks() bool {
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		file, err := os.Readlink(filepath.Join(dir, fd.Name()))
		return err == nil && filepath.Base(file) == "culm.db"
	})
}
