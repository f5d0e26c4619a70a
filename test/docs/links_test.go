package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Links between pages lead to files and headings that exist.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	checked := 0
	for _, page := range pages(t) {
		for i, line := range strings.Split(withoutBlocks(read(t, page)), "\n") {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				checked++
				checkLink(t, block{page: page, line: i + 1}, m[1])
			}
		}
	}
	if checked == 0 {
		t.Fatal("found no links")
	}
}

func checkLink(t *testing.T, from block, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	page := from.page
	if file != "" {
		page = path.Join(path.Dir(from.page), file)
	}
	info, err := os.Stat(filepath.Join(root, filepath.FromSlash(page)))
	switch {
	case err != nil:
		t.Errorf("%s: a link to %s, which does not exist", from, target)
	case anchor == "" || info.IsDir():
	case !anchors(read(t, page))[anchor]:
		t.Errorf("%s: a link to %s, and %s has no such heading", from, target, page)
	}
}

// anchors are those that GitHub gives to a page's headings.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	drop := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	for _, line := range strings.Split(withoutBlocks(text), "\n") {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		name := drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

// withoutBlocks blanks fenced blocks, so that lines keep their numbers.
func withoutBlocks(text string) string {
	lines := strings.Split(text, "\n")
	fence := false
	for i, line := range lines {
		if strings.HasPrefix(line, "```") {
			fence = !fence
			lines[i] = ""
		} else if fence {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// The list of decisions has every one, under its own title.
func TestDecisionsAreListed(t *testing.T) {
	t.Parallel()
	list := read(t, "docs/decisions/README.md")
	for _, page := range pages(t) {
		name := path.Base(page)
		if path.Dir(page) != "docs/decisions" || name == "README.md" {
			continue
		}
		title, _, _ := strings.Cut(read(t, page), "\n")
		number, words, ok := strings.Cut(strings.TrimPrefix(title, "# "), ". ")
		want := "| " + number + " | [" + words + "](" + name + ") |"
		if !ok || !strings.Contains(list, want+"\n") || !strings.HasPrefix(strings.TrimLeft(name, "0"), number+"-") {
			t.Errorf("docs/decisions/README.md lacks %s", want)
		}
		for _, part := range []string{"**Context.**", "**Decision.**", "**Consequences.**"} {
			if !strings.Contains(read(t, page), part) {
				t.Errorf("%s has no %s", page, part)
			}
		}
	}
}
