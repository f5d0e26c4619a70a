package file_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/file"
	"github.com/culm-dev/culm/tool/tooltest"
)

type edited struct {
	Path      string
	Replaced  int
	Diff      string
	Truncated bool
}

// editing calls edit_file, which must succeed.
func editing(t testing.TB, ws string, in args) edited {
	t.Helper()
	raw, err := tooltest.Call(t, file.NewEditFile(), ws, in)
	if err != nil {
		t.Fatalf("%v: %v", in, err)
	}
	var out edited
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEditFileReplacesOneText(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{"a/f.go": "one\ntwo\nthree\n"})
	path := filepath.Join(ws, "a", "f.go")
	must(t, os.Chmod(path, 0o750))
	got := editing(t, ws, args{"path": "a/f.go", "old": "two", "new": "2"})
	const diff = "--- a/a/f.go\n+++ b/a/f.go\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
	if got != (edited{Path: "a/f.go", Replaced: 1, Diff: diff}) {
		t.Errorf("got %+v", got)
	}
	if content := read(t, path); content != "one\n2\nthree\n" {
		t.Errorf("the file holds %q", content)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestEditFileHowOften(t *testing.T) {
	t.Parallel()
	const text = "a b a\nb\na\n"
	for name, tc := range map[string]struct {
		in      args
		want    string
		n       int
		code    string
		message []string
	}{
		"once":               {in: args{"old": "b a", "new": "x"}, want: "a x\nb\na\n", n: 1},
		"several":            {in: args{"old": "a", "new": "x"}, code: "several_matches", message: []string{`3 times in "f"`, "lines 1, 1, 3", "all: true"}},
		"overlapping itself": {in: args{"old": "cc", "new": "x"}, code: "several_matches", message: []string{"overlapping"}},
		"all":                {in: args{"old": "a", "new": "aa", "all": true}, want: "aa b aa\nb\naa\n", n: 3},
		"all of none":        {in: args{"old": "z", "new": "x", "all": true}, code: "no_match", message: []string{"nowhere"}},
		"count":              {in: args{"old": "a", "new": "x", "count": 3}, want: "x b x\nb\nx\n", n: 3},
		"another count":      {in: args{"old": "a", "new": "x", "count": 2}, code: "several_matches", message: []string{"3 times, not 2 times"}},
		"in turn": {
			in:   args{"edits": []args{{"old": "b a", "new": "c"}, {"old": "c\nb", "new": "d"}, {"old": "a", "new": "e", "all": true}}},
			want: "e d\ne\n", n: 4,
		},
		"all or none": {
			in:   args{"edits": []args{{"old": "b a", "new": "c"}, {"old": "b a", "new": "d"}}},
			code: "no_match", message: []string{"edits[1]: "},
		},
		"deletion":          {in: args{"old": "\nb", "new": ""}, want: "a b a\na\n", n: 1},
		"no change":         {in: args{"old": "b a", "new": "b a"}, code: "invalid_input", message: []string{"the same"}},
		"growing too large": {in: args{"old": "a", "new": strings.Repeat("x", 6<<20), "all": true}, code: "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := text
			if name == "overlapping itself" {
				content = "ccc"
			}
			ws := newWorkspace(t, map[string]string{"f": content})
			tc.in["path"] = "f"
			if tc.code == "" {
				if got := editing(t, ws, tc.in); got.Replaced != tc.n {
					t.Errorf("replaced %d, want %d", got.Replaced, tc.n)
				}
				content = tc.want
			} else {
				_, err := tooltest.Call(t, file.NewEditFile(), ws, tc.in)
				if tool.CodeOf(err) != tc.code {
					t.Fatalf("got %v, want code %q", err, tc.code)
				}
				for _, part := range tc.message {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%v: does not say %q", err, part)
					}
				}
			}
			if got := read(t, filepath.Join(ws, "f")); got != content {
				t.Errorf("the file holds %q, want %q", got, content)
			}
		})
	}
}

func TestEditFileSaysWhatComesClose(t *testing.T) {
	t.Parallel()
	const text = "package x\n\nfunc f() {\n\tif a {\n\t\treturn 1\n\t}\n}\n\nvar Long = 12345\n"
	for name, tc := range map[string]struct{ old, want string }{
		"indentation":      {"if a {\n    return 1\n", `on line 5 only white space differs: it is "\t\treturn 1", not "    return 1"`},
		"a changed line":   {"func f() {\n\tif b {\n", `line 3 comes closest, but line 4 is "\tif a {", not "\tif b {"`},
		"the end":          {"var Long = 12345\nvar More = 1\n", "begins on line 9, and the file ends"},
		"spaces in a line": {"return  1", `on line 5 only white space differs`},
		"letters":          {"var long", `on line 9 only capital letters differ: it is "var Long = 12345"`},
		"a beginning":      {"var Long = 99", "line 9 comes closest"},
		"nothing":          {"nonsense", "nothing like it"},
		"a line more":      {"package x\n\n\nfunc f()", "line 1 comes closest"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws := newWorkspace(t, map[string]string{"f": text})
			_, err := tooltest.Call(t, file.NewEditFile(), ws, args{"path": "f", "old": tc.old, "new": "x"})
			if tool.CodeOf(err) != "no_match" || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestEditFileKeepsLineEnds(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{"dos": "one\r\ntwo\r\nthree", "mixed": "one\r\ntwo\nthree\n", "end": "one\ntwo"})
	editing(t, ws, args{"path": "dos", "old": "one\ntwo", "new": "1\n2\n2b"})
	editing(t, ws, args{"path": "mixed", "old": "two\nthree", "new": "2\n3"})
	editing(t, ws, args{"path": "end", "old": "two", "new": "2"})
	for name, want := range map[string]string{"dos": "1\r\n2\r\n2b\r\nthree", "mixed": "one\r\n2\n3\n", "end": "one\n2"} {
		if got := read(t, filepath.Join(ws, name)); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

func TestEditFileDryRun(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{"f": "one\ntwo\n"})
	got := editing(t, ws, args{"path": "f", "old": "two", "new": "2", "dry_run": true})
	if got.Replaced != 1 || !strings.Contains(got.Diff, "-two\n+2\n") {
		t.Errorf("got %+v", got)
	}
	if content := read(t, filepath.Join(ws, "f")); content != "one\ntwo\n" {
		t.Errorf("the file holds %q", content)
	}
	for in, want := range map[string]tool.Effect{
		`{"path":"f","old":"a","new":"b"}`:                 tool.Write,
		`{"path":"f","old":"a","new":"b","dry_run":true}`:  tool.Read,
		`{"path":"f","old":"a","new":"b","dry_run":false}`: tool.Write,
		`{"nonsense":true,"dry_run":true}`:                 tool.Write,
	} {
		if got := tool.EffectOfCall(file.NewEditFile(), json.RawMessage(in)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestEditFileLongDiffIsCut(t *testing.T) {
	t.Parallel()
	ws := newWorkspace(t, map[string]string{"f": strings.Repeat("a line that is changed\n", 20_000)})
	got := editing(t, ws, args{"path": "f", "old": "changed", "new": "other", "all": true})
	if got.Replaced != 20_000 || !got.Truncated || len(got.Diff) > 256<<10 || !strings.HasSuffix(got.Diff, "\n") {
		t.Errorf("replaced %d, truncated %t, a diff of %d bytes", got.Replaced, got.Truncated, len(got.Diff))
	}
}

func TestEditFileRefuses(t *testing.T) {
	t.Parallel()
	outside := newWorkspace(t, map[string]string{"secret": "canary"})
	ws := newWorkspace(t, map[string]string{
		"dir/": "", "nul": "text\x00more", "latin": "caf\xe9", "link": "->f", "f": "x", "out": "->" + filepath.Join(outside, "secret"), "way": "->" + outside,
		"big": strings.Repeat("x", 16<<20+1),
	})
	must(t, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o600))
	for path, code := range map[string]string{
		"missing": "not_found", "dir": "invalid_input", "nul": "invalid_input", "latin": "invalid_input", "link": "invalid_input",
		"pipe": "invalid_input", "out": "invalid_input", "way/secret": "permission_denied", "../f": "permission_denied", "big": "too_large",
		"missing/f": "not_found",
	} {
		check(t, file.NewEditFile(), ws, args{"path": path, "old": "canary", "new": "gone"}, "", code)
	}
	if got := read(t, filepath.Join(outside, "secret")); got != "canary" {
		t.Errorf("outside holds %q", got)
	}
	if _, err := os.Lstat(filepath.Join(ws, "missing")); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tooltest.CallContext(ctx, t, file.NewEditFile(), ws, args{"path": "f", "old": "x", "new": "y"})
	if tool.CodeOf(err) != "cancelled" || read(t, filepath.Join(ws, "f")) != "x" {
		t.Errorf("cancelled: %v", err)
	}
}

// Either spelling, but not both, nor half of one.
func TestEditFileArguments(t *testing.T) {
	t.Parallel()
	registry, err := tool.NewRegistry(file.NewEditFile())
	must(t, err)
	for in, ok := range map[string]bool{
		`{"path":"f","old":"a","new":""}`:                                       true,
		`{"path":"f","edits":[{"old":"a","new":""}]}`:                           true,
		`{"path":"f","edits":[{"old":"a","new":"","all":true}],"dry_run":true}`: true,
		`{"path":"f"}`:                    false,
		`{"path":"f","old":"a"}`:          false,
		`{"path":"f","new":"a"}`:          false,
		`{"path":"f","old":"","new":"a"}`: false,
		`{"path":"f","edits":[]}`:         false,
		`{"path":"f","old":"a","new":"b","edits":[{"old":"a","new":"b"}]}`:  false,
		`{"path":"f","all":true,"edits":[{"old":"a","new":"b"}]}`:           false,
		`{"path":"f","old":"a","new":"b","all":true,"count":2}`:             false,
		`{"path":"f","edits":[{"old":"a","new":"b","all":true,"count":2}]}`: false,
		`{"path":"f","old":"a","new":"b","count":0}`:                        false,
		`{"path":"f","edits":[{"old":"a","new":"b","regexp":true}]}`:        false,
	} {
		if err := registry.CheckInput("edit_file", json.RawMessage(in)); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// Whatever is edited: what stood there once is replaced, and nothing else; else
// the file is as it was.
func TestEditFileReplacesThatAndNothingElse(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.RuneFrom([]rune("ab\n€")), 1, 4, -1)
	ws := t.TempDir()
	path := filepath.Join(ws, "f")
	rapid.Check(t, func(rt *rapid.T) {
		before, old, after := rapid.StringOf(rapid.RuneFrom([]rune("ab\n€"))).Draw(rt, "before"), word.Draw(rt, "old"), rapid.StringOf(rapid.RuneFrom([]rune("ab\n€"))).Draw(rt, "after")
		text, with := before+old+after, "X"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		once := strings.Index(text, old) == strings.LastIndex(text, old)
		_, err := tooltest.Call(t, file.NewEditFile(), ws, args{"path": "f", "old": old, "new": with})
		got, rerr := os.ReadFile(path)
		if rerr != nil {
			rt.Fatal(rerr)
		}
		want := text
		if once {
			want = before + with + after
		}
		if string(got) != want || (err == nil) != once {
			rt.Errorf("%q in %q: the file holds %q, want %q; %v", old, text, got, want, err)
		}
	})
}
