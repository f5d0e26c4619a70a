package examples_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/local"
)

// An order that is killed in the middle is taken up by the next process, and its
// customer charged once.
func TestEmbed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	program := filepath.Join(t.TempDir(), "shop")
	runtime.KeepAlive(local.Open) // the result is cached only as long as the program is the same
	for _, file := range []string{"main.go", "shop.go", "tools.go", "order.yaml"} {
		if _, err := os.ReadFile(example(t, "embed/"+file)); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", program, example(t, "embed"))
	build.Dir = example(t, "embed")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	shop, url := openShop(t, s, program)
	ordered := ask(t, http.MethodPost, url+"/orders", `{"customer": "Ada", "amount": 30}`)
	awaitTrue(t, func() bool { // the charge is recorded, and the order sleeps
		return strings.Contains(s.culm("events", ordered.ID, "--store", "sqlite:"+filepath.Join(s.dir, "data", "shop.db")), "wait_set")
	})
	if err := shop.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = shop.Wait()

	_, url = openShop(t, s, program)
	awaitTrue(t, func() bool {
		ordered = ask(t, http.MethodGet, url+"/orders/"+ordered.ID, "")
		return ordered.Status != "running"
	})
	if ordered.Status != "succeeded" || ordered.Output.Receipt != "Ada 30" {
		t.Errorf("the order is %+v", ordered)
	}
	for _, file := range []string{"ledger.txt", "outbox.txt"} {
		content, err := os.ReadFile(filepath.Join(s.dir, file))
		if err != nil || strings.Count(string(content), "\n") != 1 {
			t.Errorf("%s: %q, %v; want one line", file, content, err)
		}
	}
	if again := ask(t, http.MethodPost, url+"/orders", `{"customer": "Ada", "amount": 0}`); again.code != http.StatusBadRequest {
		t.Errorf("an order of nothing gives %d", again.code)
	}
}

// openShop starts the program, and gives where it listens.
func openShop(t *testing.T, s *shell, program string) (*exec.Cmd, string) {
	t.Helper()
	cmd := s.command(program, "-addr", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the shop says %q: %v", line, err)
	}
	return cmd, url
}

// asked is what the shop answers.
type asked struct {
	ID, Status string
	Output     struct{ Receipt string }
	code       int
}

func ask(t *testing.T, method, url, body string) (a asked) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Idempotency-Key", "4711")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	a.code = answer.StatusCode
	if a.code == http.StatusOK {
		if err := json.NewDecoder(answer.Body).Decode(&a); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// awaitTrue asks until the answer is yes.
func awaitTrue(t *testing.T, ask func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !ask() {
		select {
		case <-look.C:
		case <-t.Context().Done():
			t.Fatal("the test was ended")
		}
	}
}
