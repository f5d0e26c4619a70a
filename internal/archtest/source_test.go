package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the path of the module; below it packages are named by their folder.
const module = "github.com/culm-dev/culm"

// file is one Go file that is no test, parsed whatever system it is for.
type file struct {
	name    string // relative to the module's root
	pkg     string // its folder; "." is package culm
	syntax  *ast.File
	imports []string // of ours by folder, others by their path
}

// files reads the Go files of the module, tests and other modules excepted.
func files(t *testing.T) ([]file, *token.FileSet) {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	set := token.NewFileSet()
	var all []file
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return enter(root, name)
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := parse(root, set, name)
		all = append(all, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, set
}

// enter skips folders that hold no packages of this module.
func enter(root fs.FS, name string) error {
	base := path.Base(name)
	if name == "." {
		return nil
	}
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func parse(root fs.FS, set *token.FileSet, name string) (file, error) {
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return file{}, err
	}
	return parseSource(set, name, source)
}

func parseSource(set *token.FileSet, name string, source []byte) (file, error) {
	syntax, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	f := file{name: name, pkg: path.Dir(name), syntax: syntax}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, folder(imported))
	}
	return f, nil
}

// folder names a package of ours by its folder, and leaves others as they are.
func folder(imported string) string {
	if imported == module {
		return "."
	}
	return strings.TrimPrefix(imported, module+"/")
}

// ours reports whether a name that folder gave is that of a package of ours.
// Paths of other modules have a dot in their first part, those of the standard
// library are no folders here.
func ours(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return slices.Contains([]string{
		".", "bench", "cmd", "culmtest", "examples", "internal", "llm", "local", "run", "session", "store", "test", "tool", "workflow",
	}, first)
}

// within reports whether a package is one of the folders or below one of them.
func within(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}
