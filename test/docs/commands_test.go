package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every culm command that a page shows exists, with its flags, and so does every
// target of make.
func TestCommands(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	seen := map[string]bool{}
	for _, line := range commandLines(t) {
		for _, words := range invocations(line.text) {
			seen[words[0]] = true
			switch words[0] {
			case "make":
				if target := words[len(words)-1]; !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).MatchString(makefile) {
					t.Errorf("%s: there is no target %q", line, target)
				}
			default:
				checkCommand(t, line, words[1:])
			}
		}
	}
	if !seen["make"] || !seen["culm"] {
		t.Fatalf("found only commands of %v", seen)
	}
}

// commandLines are the lines in which pages show commands: those of shells, what
// was typed in transcripts, and advice in their output.
func commandLines(t *testing.T) []block {
	t.Helper()
	var lines []block
	for _, b := range blocks(t, "sh", "console") {
		for i, text := range strings.Split(b.text, "\n") {
			typed, isTyped := strings.CutPrefix(text, "$ ")
			advice := strings.HasPrefix(strings.TrimSpace(text), "culm ")
			if b.lang == "sh" || isTyped || advice {
				lines = append(lines, block{page: b.page, line: b.line + i, text: typed})
			}
		}
	}
	inline := regexp.MustCompile("`(culm [a-z][^`]*|make [a-z]+)`")
	for _, page := range pages(t) {
		for i, text := range strings.Split(read(t, page), "\n") {
			for _, m := range inline.FindAllStringSubmatch(text, -1) {
				lines = append(lines, block{page: page, line: i + 1, text: m[1]})
			}
		}
	}
	return lines
}

// invocations finds the culm and make commands in a line of shell: their words.
func invocations(line string) [][]string {
	line, _, _ = strings.Cut(line, " #")
	var found [][]string
	var words []string
	end := func() {
		if len(words) > 3 && slices.Equal(words[:3], []string{"go", "run", "./cmd/culm"}) {
			words = append([]string{"culm"}, words[3:]...)
		}
		if len(words) > 1 && (words[0] == "culm" || words[0] == "make") {
			found = append(found, words)
		}
		words = nil
	}
	for _, word := range regexp.MustCompile(`"[^"]*"|'[^']*'|&&|\|\||[|&;]|[^\s|&;"']+`).FindAllString(line, -1) {
		if strings.Trim(word, "|&;") == "" {
			end()
			continue
		}
		words = append(words, word)
	}
	end()
	return found
}

func checkCommand(t *testing.T, line block, words []string) {
	t.Helper()
	if strings.HasPrefix(words[0], "-") || words[0] == "COMMAND" {
		return
	}
	general, _ := culm("--help")
	help, status := culm(words[0], "--help")
	if status != 0 || !strings.Contains(general, "\n  "+words[0]+" ") {
		t.Errorf("%s: there is no command culm %s", line, words[0])
		return
	}
	for _, word := range words[1:] {
		flag, _, _ := strings.Cut(word, "=")
		if !regexp.MustCompile(`^--?[a-z][a-z-]*$`).MatchString(flag) {
			continue
		}
		listed := regexp.MustCompile(`(?m)(^|[ ,])` + flag + `([ ,=]|$)`)
		if !listed.MatchString(help) && !listed.MatchString(general) {
			t.Errorf("%s: culm %s has no flag %s", line, words[0], flag)
		}
	}
}

func TestInvocations(t *testing.T) {
	t.Parallel()
	tests := map[string][][]string{
		"culm list -o json | jq -r .run_id":                  {{"culm", "list", "-o", "json"}},
		"culm run x --trust & sleep 5; kill -9 $!":           {{"culm", "run", "x", "--trust"}},
		"cd hello && culm run hello   # it runs culm show x": {{"culm", "run", "hello"}},
		"go run ./cmd/culm run x && make check":              {{"culm", "run", "x"}, {"make", "check"}},
		`culm resolve R s --output '{"a": 1}'`:               {{"culm", "resolve", "R", "s", "--output", `'{"a": 1}'`}},
		"echo culm run":                                      nil,
	}
	for line, want := range tests {
		if got := invocations(line); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
