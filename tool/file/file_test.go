package file_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/file"
	"github.com/culm-dev/culm/tool/tooltest"
)

type args = map[string]any

// newWorkspace makes a folder with files: a name that ends in / is a folder, a
// content that starts with -> is a symbolic link.
func newWorkspace(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o700))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if target, isLink := strings.CutPrefix(content, "->"); isLink {
			must(t, os.Symlink(target, path))
			continue
		}
		must(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// check calls a tool and compares the result's JSON, or the failure's code.
func check(t *testing.T, of tool.Tool, workspace string, in args, want, code string) {
	t.Helper()
	got, err := tooltest.Call(t, of, workspace, in)
	switch {
	case code != "" && tool.CodeOf(err) != code:
		t.Errorf("%s %v: got %s, %v, want code %q", of.Spec().Name, in, got, err, code)
	case code == "" && (err != nil || string(got) != want):
		t.Errorf("%s %v: got %s, %v, want %s", of.Spec().Name, in, got, err, want)
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{
		"text": "one\ntwo\nthree", "dir/": "", "binary": "\xff\x00", "empty": "", "json": `{"a": 1}`,
		"big": strings.Repeat("x", 1<<20+1), "link": "->dir/../text",
	})
	must(t, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o600))
	for _, tc := range []struct {
		in         args
		want, code string
	}{
		{args{"path": "text"}, `"one\ntwo\nthree"`, ""},
		{args{"path": "./dir/../text"}, `"one\ntwo\nthree"`, ""},
		{args{"path": filepath.Join(ws, "text")}, `"one\ntwo\nthree"`, ""},
		{args{"path": "link"}, `"one\ntwo\nthree"`, ""},
		{args{"path": "empty"}, `""`, ""},
		{args{"path": "binary"}, `{"base64":"/wA="}`, ""},
		{args{"path": "json"}, `"{\"a\": 1}"`, ""},
		{args{"path": "text", "start_line": 2}, `"two\nthree"`, ""},
		{args{"path": "text", "lines": 1}, `"one\n"`, ""},
		{args{"path": "text", "start_line": 2, "lines": 1}, `"two\n"`, ""},
		{args{"path": "text", "start_line": 9}, `""`, ""},
		{args{"path": "text", "offset": 4, "length": 3}, `"two"`, ""},
		{args{"path": "text", "offset": 8}, `"three"`, ""},
		{args{"path": "text", "offset": 99}, `""`, ""},
		{args{"path": "text", "max_bytes": 13}, `"one\ntwo\nthree"`, ""},
		{args{"path": "text", "max_bytes": 12}, "", "too_large"},
		{args{"path": "text", "start_line": 1, "max_bytes": 5}, "", "too_large"},
		{args{"path": "text", "lines": 1, "max_bytes": 5}, `"one\n"`, ""},
		{args{"path": "big"}, "", "too_large"},
		{args{"path": "big", "start_line": 2}, `""`, ""},
		{args{"path": "big", "length": 2}, `"xx"`, ""},
		{args{"path": "missing"}, "", "not_found"},
		{args{"path": "dir"}, "", "invalid_input"},
		{args{"path": "pipe"}, "", "invalid_input"},
		{args{"path": "a\x00b"}, "", "invalid_input"},
	} {
		check(t, file.NewReadFile(), ws, tc.in, tc.want, tc.code)
	}
}

func TestReadFileIsAText(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{"json": `[1]`})
	res, err := file.NewReadFile().Call(t.Context(), tool.Call{Workspace: ws, Args: json.RawMessage(`{"path":"json"}`)})
	if err != nil || !res.Text {
		t.Errorf("got %+v, %v: a step with an output schema must be able to read it as JSON", res, err)
	}
}

// TestNothingLeadsOutOfTheWorkspace tries every tool with every way out.
func TestNothingLeadsOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	outside := t.TempDir() // beside the workspace
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("canary"), 0o600))
	ws := newWorkspace(t, map[string]string{
		"absolute": "->" + outside, "relative": "->../" + filepath.Base(outside), "chain": "->absolute",
		"file": "->" + filepath.Join(outside, "secret"), "sub/up": "->../..",
	})
	for _, path := range []string{
		"..", "../" + filepath.Base(outside), "sub/../../" + filepath.Base(outside), outside, "/", "/etc",
		"absolute", "relative", "chain", "sub/up",
	} {
		for _, tc := range []struct {
			of tool.Tool
			in args
		}{
			{file.NewReadFile(), args{"path": path + "/secret"}},
			{file.NewWriteFile(), args{"path": path + "/new", "content": "x"}},
			{file.NewWriteFile(), args{"path": path + "/deep/new", "content": "x"}},
			{file.NewWriteFile(), args{"path": path + "/secret", "content": "x", "append": true}},
			{file.NewEditFile(), args{"path": path + "/secret", "old": "canary", "new": "gone"}},
			{file.NewListDir(), args{"path": path}},
			{file.NewGlob(), args{"path": path, "pattern": "**"}},
			{file.NewGrep(), args{"path": path, "pattern": "canary"}},
		} {
			got, err := tooltest.Call(t, tc.of, ws, tc.in)
			if tool.CodeOf(err) != "permission_denied" {
				t.Errorf("%s %v: %s, %v", tc.of.Spec().Name, tc.in, got, err)
			}
		}
	}
	check(t, file.NewReadFile(), ws, args{"path": "file"}, "", "permission_denied")
	check(t, file.NewReadFile(), ws, args{"path": "../x"}, "", "permission_denied")
	check(t, file.NewReadFile(), ws, args{"path": "absolute/secret"}, "", "permission_denied")
	check(t, file.NewGlob(), ws, args{"pattern": "../*"}, "", "permission_denied")
	check(t, file.NewGlob(), ws, args{"pattern": "**/secret"}, `{"paths":[],"truncated":false}`, "")
	check(t, file.NewGrep(), ws, args{"pattern": "canary"}, `{"matches":[],"skipped":0,"truncated":false}`, "")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 || read(t, filepath.Join(outside, "secret")) != "canary" {
		t.Errorf("outside was changed: %v, %v", entries, err)
	}
}

func TestWithoutWorkspaceNothingIsTouched(t *testing.T) {
	t.Parallel()
	for _, of := range file.Tools() {
		in := args{"path": "x"}
		switch of.Spec().Name {
		case "write_file":
			in["content"] = "x"
		case "edit_file":
			in["old"], in["new"] = "x", "y"
		case "glob", "grep":
			in["pattern"] = "x"
		}
		check(t, of, "", in, "", "permission_denied")
	}
}

// A folder that is exchanged for a symbolic link all the time must never lead a
// reader out, whenever it looks.
func TestExchangedFolderNeverLeadsOut(t *testing.T) {
	t.Parallel()
	outside := newWorkspace(t, map[string]string{"f": "outside"})
	ws := newWorkspace(t, map[string]string{"real/f": "inside", "link": "->" + outside})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			from := filepath.Join(ws, []string{"real", "link"}[i%2])
			_ = os.Rename(from, filepath.Join(ws, "dir"))
			_ = os.Rename(filepath.Join(ws, "dir"), from)
		}
	}()
	defer func() { close(stop); <-stopped }()
	for range 500 {
		got, err := tooltest.Call(t, file.NewReadFile(), ws, args{"path": "dir/f"})
		if err == nil && string(got) != `"inside"` {
			t.Fatalf("read %s", got)
		}
	}
}

func TestListDir(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{"b": "12", "a/x": "", "c": "->b", ".hidden": ""})
	got, err := tooltest.Call(t, file.NewListDir(), ws, args{})
	must(t, err)
	var out struct {
		Entries []struct {
			Name, Type string
			Size       int
		}
		Truncated bool
	}
	must(t, json.Unmarshal(got, &out))
	if s := fmt.Sprint(out); s != "{[{.hidden file 0} {a dir 0} {b file 2} {c symlink 0}] false}" {
		t.Errorf("got %s", s)
	}
	got, err = tooltest.Call(t, file.NewListDir(), ws, args{"limit": 1})
	must(t, err)
	if !strings.Contains(string(got), `"truncated":true`) || strings.Count(string(got), `"name"`) != 1 {
		t.Errorf("got %s", got)
	}
	check(t, file.NewListDir(), ws, args{"path": "b"}, "", "execution_failed")
	check(t, file.NewListDir(), ws, args{"path": "missing"}, "", "not_found")
}

func TestGlob(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{
		"main.go": "", "a/b/deep.go": "", "a/x.txt": "", ".github/ci.yml": "", ".git/config": "", "a/.git/HEAD": "", "loop": "->.", "a.go/": "",
	})
	for _, tc := range []struct {
		in         args
		want, code string
	}{
		{args{"pattern": "**/*.go"}, `{"paths":["a/b/deep.go","main.go"],"truncated":false}`, ""},
		{args{"pattern": "*.go"}, `{"paths":["main.go"],"truncated":false}`, ""},
		{args{"pattern": "*.go", "dirs": true}, `{"paths":["a.go","main.go"],"truncated":false}`, ""},
		{args{"pattern": "a/*"}, `{"paths":["a/x.txt"],"truncated":false}`, ""},
		{args{"pattern": "*.{txt,yml}", "path": "a"}, `{"paths":["a/x.txt"],"truncated":false}`, ""},
		{args{"pattern": "**/*.go", "path": "a"}, `{"paths":["a/b/deep.go"],"truncated":false}`, ""},
		{args{"pattern": "**/*.yml"}, `{"paths":[".github/ci.yml"],"truncated":false}`, ""},
		{args{"pattern": "**/config"}, `{"paths":[],"truncated":false}`, ""},
		{args{"pattern": "**", "limit": 2}, `{"paths":[".github/ci.yml","a/b/deep.go"],"truncated":true}`, ""},
		{args{"pattern": "[a"}, "", "invalid_input"},
		{args{"pattern": "/etc/*"}, "", "permission_denied"},
		{args{"pattern": "*", "path": "missing"}, "", "not_found"},
	} {
		check(t, file.NewGlob(), ws, tc.in, tc.want, tc.code)
	}
}

func TestGrep(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{
		"a.txt": "one\nTwo\nthree\r\n", "d/b.txt": "two\n\xfftwo", "c.bin": "two\x00", ".git/x": "two", "empty": "",
		"long": strings.Repeat("ä", 600) + "two",
	})
	match := func(path string, line int, text, more string) string {
		return fmt.Sprintf(`{"path":%q,"line":%d,"text":%q%s}`, path, line, text, more)
	}
	result := func(skipped int, truncated bool, matches ...string) string {
		return fmt.Sprintf(`{"matches":[%s],"skipped":%d,"truncated":%t}`, strings.Join(matches, ","), skipped, truncated)
	}
	long := match("long", 1, strings.Repeat("ä", 500)+" …", "")
	for _, tc := range []struct {
		in         args
		want, code string
	}{
		{args{"pattern": "two"}, result(1, false, match("d/b.txt", 1, "two", ""), match("d/b.txt", 2, "\uFFFDtwo", ""), long), ""},
		{args{"pattern": "^two$"}, result(1, false, match("d/b.txt", 1, "two", "")), ""},
		{args{"pattern": "two", "ignore_case": true, "glob": "*.txt"}, result(0, false, match("a.txt", 2, "Two", "")), ""},
		{args{"pattern": "two", "glob": "**/*.txt", "limit": 1}, result(0, true, match("d/b.txt", 1, "two", "")), ""},
		{args{"pattern": "Two", "path": "a.txt", "context": 1}, result(0, false, match("a.txt", 2, "Two", `,"before":["one"],"after":["three"]`)), ""},
		{args{"pattern": "e$", "path": "a.txt"}, result(0, false, match("a.txt", 1, "one", ""), match("a.txt", 3, "three", "")), ""},
		{args{"pattern": "^$"}, result(1, false), ""},
		{args{"pattern": "("}, "", "invalid_input"},
		{args{"pattern": "x", "path": "missing"}, "", "not_found"},
	} {
		check(t, file.NewGrep(), ws, tc.in, tc.want, tc.code)
	}
}
