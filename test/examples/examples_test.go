package examples_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An example that is added needs a test below.
func TestEveryExampleIsTested(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	tested := []string{"cleanup", "crash-demo", "embed", "hello", "nested", "repo-report", "retry-and-repeat"}
	for _, entry := range entries {
		if !slices.Contains(tested, entry.Name()) {
			t.Errorf("examples/%s has no test here", entry.Name())
		}
	}
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.culm("validate", example(t, "cleanup"), example(t, "crash-demo"), example(t, "hello/workflows"), example(t, "nested"), example(t, "repo-report"), example(t, "retry-and-repeat"))
}

func TestExamplesAreTidy(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if got := s.culm(append([]string{"fmt", "--check"}, workflowFiles(t)...)...); got != "" {
		t.Errorf("not tidy:\n%s", got)
	}
}

// workflowFiles are the definitions of all examples.
func workflowFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*/*.yaml", "*/workflows/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(example(t, ""), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "\nworkflow_schema:") {
				files = append(files, file)
			}
		}
	}
	if len(files) < 7 {
		t.Fatalf("only found %v", files)
	}
	return files
}

func TestHello(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.dir = example(t, "hello")
	want := "Hello, Ada! YAML files in this project: 3\n"
	if got := s.culm("run", "hello", "-a", "name=Ada"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRepoReport(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.run("git", "init", "-q", "-b", "main")
	s.write("main.go", "package main\n")
	s.write("notes.md", "# Notes\n")
	s.run("git", "add", ".")
	s.run("git", "commit", "-q", "-m", "Begin")
	s.write("notes.md", "# Other notes\n")

	got := s.culm("run", example(t, "repo-report"), "-a", "path=.")
	for _, want := range []string{
		"# Repository report\n", "| Commits | 1 by 1 author, ", "| Go | ", "| Markdown | ", "| `main.go` | 13 B | 1 | ",
		"| Working tree | 1 change not committed |", "- modified `notes.md`\n", "Begin (Ada)\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report has no %q:\n%s", want, got)
		}
	}
	if status := s.run("git", "status", "--porcelain"); status != " M notes.md\n" {
		t.Errorf("the repository has changed: %q", status)
	}
	s.onlyReads()
}

// onlyReads checks that the run's tools are all of effect read.
func (s *shell) onlyReads() {
	s.t.Helper()
	var listed struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(s.culm("list", "-o", "json")), &listed); err != nil {
		s.t.Fatal(err)
	}
	var queued struct {
		Tools map[string]struct{ Effect string }
	}
	first, _, _ := strings.Cut(s.culm("events", listed.RunID, "-o", "json"), "\n")
	if err := json.Unmarshal([]byte(first), &queued); err != nil {
		s.t.Fatal(err)
	}
	if len(queued.Tools) == 0 {
		s.t.Fatalf("no tools are pinned in %s", first)
	}
	for name, pin := range queued.Tools {
		if pin.Effect != "read" {
			s.t.Errorf("tool %s has the effect %s", name, pin.Effect)
		}
	}
}

func TestCasesOfExamples(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.culm("test", example(t, "."))
}

// The first command of the README works on this repository itself.
func TestRepoReportOnThisRepository(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.dir = filepath.Join("..", "..")
	if err := s.command("git", "rev-parse", "HEAD").Run(); err != nil {
		t.Skip("this is no git repository with a commit: ", err)
	}
	if got := s.culm("run", "examples/repo-report", "-a", "path=."); !strings.Contains(got, "| Go | ") {
		t.Errorf("the report has no Go:\n%s", got)
	}
}
