//go:build unix

package doctor_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/doctor"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/tool"
)

func TestHealthy(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.healthy() // nothing was ever stored
	p.write("go", "go")
	p.culm(0, "run", "slow.yaml", "--trust", "--allow", "exec")
	p.healthy()
	if page := p.culm(0, "doctor"); !strings.Contains(page, "Nothing needs you.") {
		t.Errorf("it says\n%s", page)
	}
	p.suspendedIsHealthy()
}

// A run that somebody may go on with is nothing sick.
func (p *place) suspendedIsHealthy() {
	p.Helper()
	for _, name := range []string{"go", "began"} {
		if err := os.Remove(filepath.Join(p.work, name)); err != nil {
			p.Fatal(err)
		}
	}
	p.suspended()
	p.healthy()
}

func TestWrongRights(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.suspended()
	for name, mode := range map[string]os.FileMode{"": 0o755, "culm.db": 0o644, "locks": 0o750} {
		if err := os.Chmod(filepath.Join(p.data, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	f := p.sick(5, doctor.CodeWrongRights, p.data+" (0755)", "culm.db (0644)")
	for _, line := range f.Type {
		p.typed(f, line.Command)
	}
	p.healthy()
}

// A database in somebody's project: the project's own rights are none of ours.
func TestRightsOfAProjectAreItsOwn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("go", "go")
	if err := os.Chmod(p.work, 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("culm.yaml", "store: sqlite:./culm.db\n")
	cmd := p.command(os.Getenv(binaryVariable), "run", "slow.yaml", "--trust", "--allow", "exec")
	look := p.command(os.Getenv(binaryVariable), "doctor")
	for _, c := range []*exec.Cmd{cmd, look} {
		for i, kv := range c.Env {
			if strings.HasPrefix(kv, "CULM_DATA=") {
				c.Env[i] = "UNUSED="
			}
		}
		p.run(0, c)
	}
}

func TestDeadOwner(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	owner, id := p.working()
	p.healthy()
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	f := p.sick(5, store.FoundDeadOwner, "nobody works on run "+tail(id), "culm recover", "culm continue "+tail(id))
	if len(f.Runs) != 1 || f.Runs[0] != id || f.PID != owner.Process.Pid {
		t.Errorf("found %+v", f)
	}
	p.typed(f, "culm recover")
	f = p.sick(5, doctor.CodeInDoubt, "run "+tail(id)+": nobody knows", "culm show "+tail(id), "culm list --in-doubt")
	p.typed(f, "culm show")
	p.culm(0, "resolve", tail(id), "wait", "--fail", "it was killed")
	p.healthy()
}

func TestStoppedOwner(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	owner, id := p.working()
	if err := owner.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.eventually("it is stopped", func() bool { return len(p.anyStatus("doctor", "-o", "json").Findings) > 0 })
	f := p.sick(5, store.FoundStoppedOwner, fmt.Sprintf("process %d", owner.Process.Pid), tail(id))
	if f.PID != owner.Process.Pid || len(f.Runs) != 1 || f.Runs[0] != id {
		t.Errorf("found %+v", f)
	}
	p.typed(f, "kill -CONT")
	p.eventually("it goes on", func() bool { return len(p.anyStatus("doctor", "-o", "json").Findings) == 0 })
	p.healthy()
}

// anyStatus is a report whatever it comes to.
func (p *place) anyStatus(args ...string) *report {
	p.Helper()
	out, _ := p.command(os.Getenv(binaryVariable), args...).Output()
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		p.Fatal(err)
	}
	return &r
}

// sql changes the database behind everybody's back.
func (p *place) sql(statement string, args ...any) {
	p.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.data, "culm.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		p.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(p.Context(), statement, args...); err != nil {
		p.Fatal(err)
	}
}

func TestDamagedRows(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	bad := p.suspended()
	p.culm(0, "run", "slow.yaml", "--trust", "--allow", "exec")
	p.sql(`UPDATE commits SET events = replace(events, '"step_completed"', '"step_complexed"')
		WHERE stream = (SELECT id FROM streams WHERE name = ?)`, bad)
	f := p.sick(6, store.FoundDamagedStream, "run "+bad+" is damaged", "culm export "+tail(bad), "culm restart "+tail(bad))
	if len(f.Runs) != 1 || f.Runs[0] != bad {
		t.Errorf("found %+v", f)
	}
	// Of it, what verifies is exported, and all that is stored.
	p.culm(6, "export", "--all", "--to", "out")
	for name, want := range map[string]string{"raw.jsonl": "step_complexed", "reason.txt": "checksum"} {
		text, err := os.ReadFile(filepath.Join(p.work, "out", "runs", bad, "damaged", name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if runs, err := os.ReadDir(filepath.Join(p.work, "out", "runs")); err != nil || len(runs) != 2 {
		t.Errorf("exported: %v, %v", runs, err)
	}
	p.typed(f, "culm restart")
}

func TestDamagedPages(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.suspended()
	p.sql(`PRAGMA wal_checkpoint(TRUNCATE)`)
	f, err := os.OpenFile(filepath.Join(p.data, "culm.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The root of the table of idempotency keys is not what any run needs.
	if _, err := f.WriteAt([]byte("damaged page"), 4096*p.root("keys")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	found := p.sick(6, store.FoundDamagedPage, "the store's files are damaged", "culm doctor --salvage NEW")
	saved := filepath.Join(p.work, "NEW")
	p.typed(found, "culm doctor --salvage")
	p.data = saved
	r := p.doctor(5)
	if len(r.Findings) != 1 || r.Findings[0].Code != doctor.CodeRestoredBackup {
		t.Errorf("found in what was saved: %+v", r.Findings)
	}
}

// root is the number of the page, from 0, at which a table begins.
func (p *place) root(table string) int64 {
	p.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.data, "culm.db")+"?mode=ro")
	if err != nil {
		p.Fatal(err)
	}
	defer db.Close()
	var page int64
	if err := db.QueryRowContext(p.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = ?`, table).Scan(&page); err != nil {
		p.Fatal(err)
	}
	return page - 1
}

// A disk that is full, in a mount namespace of the test's own.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.suspended()
	small := filepath.Join(p.work, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`mount -t tmpfs -o size=3m,mode=700 tmpfs %[1]s && cp -r %[2]s/. %[1]s/ && exec "$@"`, small, p.data)
	fill := `dd if=/dev/zero of=` + small + `/fill bs=4096 2>/dev/null; exec culm doctor -o json --data ` + small
	cmd := p.command("unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", "sh", "-c", fill)
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if cmd.ProcessState.ExitCode() != 6 || len(r.Findings) == 0 || r.Findings[0].Code != doctor.CodeDiskFull {
		t.Fatalf("exit status %d: %+v", cmd.ProcessState.ExitCode(), r.Findings)
	}
	if f := r.Findings[0]; !strings.HasPrefix(f.Type[0].Command, "culm gc ") || !strings.Contains(f.Message, "0 KiB") {
		t.Errorf("found %+v", f)
	}
}

func TestNewerFormat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.suspended()
	p.sql(`UPDATE meta SET format = 99`)
	p.sick(6, doctor.CodeNewerFormat, "format 99", "culm version")
}

// ahead is a clock that is ahead.
type ahead struct{}

func (ahead) Now() time.Time { return time.Now().Add(48 * time.Hour) }

func (ahead) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	return time.AfterFunc(d, f).Stop
}

func (p *place) engine(cfg culm.Config) *culm.Engine {
	p.Helper()
	e, err := local.Open(p.Context(), "sqlite:"+filepath.Join(p.data, "culm.db"), cfg)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			p.Error(err)
		}
	})
	return e
}

func TestClockInThePast(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e := p.engine(culm.Config{Clock: ahead{}})
	_, err := e.Run(t.Context(), culm.Start{Workflow: []byte(`{"workflow_schema":1,"id":"w","revision":1,"steps":[{"id":"s","type":"sleep","duration_ms":0}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	p.sick(5, doctor.CodeClockInPast, "48h0m0s later", "date -u")
}

func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	owner, id := p.working()
	dest := filepath.Join(p.work, "backup")
	p.culm(0, "backup", dest)
	p.write("go", "go")
	if err := owner.Wait(); err != nil {
		t.Errorf("the run beside the backup: %v", err)
	}
	p.healthy()
	p.data = dest // restored: the backup stands where the store was
	p.sick(5, store.FoundDeadOwner)
	p.culm(0, "recover")
	f := p.sick(5, doctor.CodeRestoredBackup, "this store is a copy", "culm continue "+tail(id)+" --takeover")
	if len(f.Runs) != 1 || f.Runs[0] != id {
		t.Errorf("found %+v", f)
	}
	p.culm(5, "continue", id)
	p.culm(0, "resolve", id, "wait", "--output", `{"exit_code":0,"stdout":"","stderr":""}`)
	p.typed(f, "culm continue")
	p.healthy()
}

func TestMissingTool(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	started := make(chan struct{})
	type args struct{}
	charge, err := tool.Func("charge", "charges somebody", tool.Read, func(ctx context.Context, _ tool.Call, _ args) (string, error) {
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	e := p.engine(culm.Config{Tools: []tool.Tool{charge}, Grace: time.Second})
	v, err := e.Start(t.Context(), culm.Start{Workflow: []byte(`{"workflow_schema":1,"id":"w","revision":1,"steps":[{"id":"s","type":"tool","tool":"charge"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = e.Close(ended)
	f := p.sick(5, doctor.CodeMissingTool, `there is no tool "charge" here`, "culm cancel "+tail(v.RunID))
	if len(f.Runs) != 1 || f.Runs[0] != v.RunID {
		t.Errorf("found %+v", f)
	}
	p.culm(4, "cancel", v.RunID)
	p.healthy()
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.suspended()
	p.write("culm.yaml", "stoer: sqlite:./culm.db\n")
	p.sick(5, doctor.CodeInvalidConfig, `culm.yaml:1:1: unknown field "stoer"`)
}

func tail(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }
