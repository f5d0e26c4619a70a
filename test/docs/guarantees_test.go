package docs_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

const guarantees = "docs/guarantees.md"

// Every test that the page names exists, and every promise names one that
// carries its number.
func TestGuaranteesHaveTests(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	named := regexp.MustCompile("`(?:Test)?(?:Invariant|[A-Z])[A-Za-z0-9_]+`")
	heading := regexp.MustCompile(`^### (\d+)\. `)
	numbers := map[string]bool{}
	number := ""
	proved := false
	finish := func() {
		if number != "" && !proved {
			t.Errorf("%s: promise %s names no test that carries its number", guarantees, number)
		}
	}
	for i, line := range strings.Split(read(t, guarantees), "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			finish()
			number, proved = m[1], false
			numbers[number] = true
		}
		if !strings.HasPrefix(line, "Tests: ") && !strings.HasPrefix(line, "  ") {
			continue
		}
		for _, span := range named.FindAllString(line, -1) {
			name := strings.Trim(span, "`")
			if !tests[name] {
				t.Errorf("%s:%d: there is no test %s", guarantees, i+1, name)
			}
			if regexp.MustCompile(`Invariant0?` + number + `_`).MatchString(name) {
				proved = true
			}
		}
	}
	finish()
	for _, want := range strings.Fields("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18 20 21 23 24 25") {
		if !numbers[want] {
			t.Errorf("%s has no promise %s", guarantees, want)
		}
	}
}

// testNames are the tests of the module: functions, and the parts of the suite
// for stores, which are keys of a map.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
	part := regexp.MustCompile(`(?m)^\t"([A-Z][A-Za-z0-9_]+)": +func\(`)
	found := map[string]bool{}
	module := os.DirFS(root)
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		suite := strings.HasPrefix(name, "store/storetest/") && strings.HasSuffix(name, ".go")
		if !suite && !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		for _, m := range function.FindAllStringSubmatch(string(source), -1) {
			found[m[1]] = true
		}
		if suite {
			for _, m := range part.FindAllStringSubmatch(string(source), -1) {
				found[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
