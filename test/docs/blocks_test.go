// Package docs_test keeps the documentation true: its Go compiles and runs, its
// YAML is valid, its commands and flags exist, its queries run, its tables list
// what the code has, its links lead somewhere.
package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the module.
var root = filepath.Join("..", "..")

// block is one fenced block of a page.
type block struct {
	page string // relative to the module's root
	line int    // of its first line, from 1
	lang string
	text string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// pages are all Markdown files of the project, relative to its root.
func pages(t *testing.T) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin"):
			return fs.SkipDir
		case path.Ext(name) == ".md":
			all = append(all, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(all, "README.md") || !slices.Contains(all, "docs/definition.md") {
		t.Fatalf("pages are missing: %v", all)
	}
	return all
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks gives the fenced blocks in one of the languages, of all pages. It fails
// if there are none, for then a test of them would prove nothing.
func blocks(t *testing.T, langs ...string) []block {
	t.Helper()
	var found []block
	for _, page := range pages(t) {
		for _, b := range fenced(page, read(t, page)) {
			if slices.Contains(langs, b.lang) {
				found = append(found, b)
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("no page has a block in %v", langs)
	}
	return found
}

func fenced(page, text string) []block {
	var found []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{page: page, line: i + 2, lang: lang}
		case fence:
			found = append(found, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return found
}

// Every block says its language, so that one of these tests looks at it.
func TestBlocksSayTheirLanguage(t *testing.T) {
	t.Parallel()
	known := []string{"go", "yaml", "sh", "console", "sql", "json", "jq"}
	for _, page := range pages(t) {
		for _, b := range fenced(page, read(t, page)) {
			picture := b.lang == "" && (page == "docs/architecture.md" || strings.HasPrefix(page, "examples/"))
			if !slices.Contains(known, b.lang) && !picture {
				t.Errorf("%s: a block in %q, which no test looks at; known are %v", b, b.lang, known)
			}
		}
	}
}
