package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// examples are the files whose code the pages quote.
var examples = []string{
	"example_test.go", "example_again_test.go", "tool/example_test.go", "culmtest/example_test.go",
	"examples/embed/main.go", "examples/embed/shop.go", "examples/embed/tools.go", "examples/embed/main_test.go",
}

// Go in the pages is a whole program, which is built and run, or a part of an
// example, which is a test itself.
func TestGo(t *testing.T) {
	t.Parallel()
	var quotable []string
	for _, file := range examples {
		quotable = append(quotable, unindented(read(t, file)))
	}
	for _, b := range blocks(t, "go") {
		if strings.HasPrefix(b.text, "package main\n") {
			t.Run(b.String(), func(t *testing.T) {
				t.Parallel()
				runProgram(t, b)
			})
			continue
		}
		// Examples keep nothing on disk; a reader wants to.
		want := unindented(strings.ReplaceAll(b.text, `"sqlite:./data/culm.db"`, `"memory:"`))
		if !quoted(want, quotable) {
			t.Errorf("%s: this stands in none of %v, so nothing compiles it:\n%s", b, examples, b.text)
		}
	}
}

func quoted(part string, texts []string) bool {
	for _, text := range texts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// unindented is code without indentation: a part is a part wherever it stands.
func unindented(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return "\n" + strings.Join(lines, "\n")
}

// runProgram builds a program as a package of this module, without writing it
// there, and compares what it prints with its Output comment.
func runProgram(t *testing.T, b block) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(module, "internal", "snippet")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(folder, "main.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "program"), "./internal/snippet")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", b, err, out)
	}
	program := exec.Command(filepath.Join(dir, "program"))
	program.Dir = dir
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", b, err, out)
	}
	_, after, ok := strings.Cut(b.text, "// Output: ")
	want, _, _ := strings.Cut(after, "\n")
	if !ok || strings.TrimSpace(string(out)) != want {
		t.Errorf("%s prints %q, and says that it prints %q", b, out, want)
	}
}
