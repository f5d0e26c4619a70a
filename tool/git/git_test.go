package git_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/git"
	"github.com/culm-dev/culm/tool/tooltest"
)

// repo is a repository made by the real git.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T, options ...string) repo {
	t.Helper()
	r := repo{t, filepath.Join(realTempDir(t), "repo")}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "--quiet", "--initial-branch=main"}, options...)...)
	return r
}

func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=2026-01-02T03:04:05+01:00",
		"GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.org", "GIT_COMMITTER_DATE=2026-01-02T03:04:06+01:00",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--message", message)
	return r.git("rev-parse", "HEAD")
}

// call runs the tool and decodes the result into out.
func call(t *testing.T, workspace string, args map[string]any, out any) {
	t.Helper()
	b, err := tooltest.Call(t, git.New(git.Options{}), workspace, args)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if err := json.Unmarshal(b, out); err != nil {
		t.Fatal(err)
	}
}

func callJSON(t *testing.T, workspace string, args map[string]any) string {
	t.Helper()
	var v any
	call(t, workspace, args, &v)
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func codeOf(t *testing.T, workspace string, args map[string]any) string {
	t.Helper()
	_, err := tooltest.Call(t, git.New(git.Options{}), workspace, args)
	if err == nil {
		t.Fatalf("%v did not fail", args)
	}
	return tool.CodeOf(err)
}

func TestGitReadsHistory(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, "--object-format="+format)
			r.write("a.txt", "one\n")
			r.write("dir/ümlaut\tb.txt", "12345")
			first := r.commit("First\n\nwith a body\nof two lines")
			r.write("a.txt", "one\ntwo\n")
			r.write("bin", "\x00\x01")
			second := r.commit("Second")
			r.git("tag", "-a", "v1", "-m", "release")

			person := func(name, at string) map[string]any {
				return map[string]any{"name": name, "email": strings.ToLower(name) + "@example.org", "time": "2026-01-02T03:04:" + at + "+01:00"}
			}
			commit := func(hash, subject, body string, parents ...any) map[string]any {
				return map[string]any{
					"hash": hash, "parents": append([]any{}, parents...), "subject": subject, "body": body,
					"author": person("Ada", "05"), "committer": person("Bob", "06"),
				}
			}
			c1, c2 := commit(first, "First", "with a body\nof two lines"), commit(second, "Second", "", first)
			one, zero := 1.0, 0.0
			for _, tc := range []struct {
				args map[string]any
				want any
			}{
				{map[string]any{"op": "head"}, map[string]any{"branch": "main", "commit": second, "unborn": false}},
				{map[string]any{"op": "branches"}, map[string]any{"truncated": false, "refs": []any{
					map[string]any{"name": "main", "commit": second, "time": "2026-01-02T03:04:06+01:00", "subject": "Second"},
				}}},
				{map[string]any{"op": "tags"}, map[string]any{"truncated": false, "refs": []any{
					map[string]any{"name": "v1", "commit": second, "time": "2026-01-02T03:04:06+01:00", "subject": "release"},
				}}},
				{map[string]any{"op": "log"}, map[string]any{"commits": []any{c2, c1}, "truncated": false}},
				{map[string]any{"op": "log", "limit": 1}, map[string]any{"commits": []any{c2}, "truncated": true}},
				{map[string]any{"op": "log", "skip": 1}, map[string]any{"commits": []any{c1}, "truncated": false}},
				{map[string]any{"op": "log", "rev": "HEAD~1..v1"}, map[string]any{"commits": []any{c2}, "truncated": false}},
				{map[string]any{"op": "log", "paths": []string{"dir"}}, map[string]any{"commits": []any{c1}, "truncated": false}},
				{map[string]any{"op": "count"}, map[string]any{"count": 2.0}},
				{map[string]any{"op": "shortlog"}, map[string]any{"truncated": false, "authors": []any{
					map[string]any{"name": "Ada", "email": "ada@example.org", "commits": 2.0},
				}}},
				{map[string]any{"op": "show", "rev": first[:12]}, map[string]any{"commit": c1, "truncated": false, "files": []any{
					map[string]any{"path": "a.txt", "status": "added", "added": one, "deleted": zero},
					map[string]any{"path": "dir/ümlaut\tb.txt", "status": "added", "added": one, "deleted": zero},
				}}},
				{map[string]any{"op": "diff", "from": "HEAD~1"}, map[string]any{"truncated": false, "files": []any{
					map[string]any{"path": "a.txt", "status": "modified", "added": one, "deleted": zero},
					map[string]any{"path": "bin", "status": "added", "added": nil, "deleted": nil},
				}}},
			} {
				var got any
				call(t, r.dir, tc.args, &got)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%v: -want +got\n%s", tc.args, diff)
				}
			}

			var patch struct{ Patch string }
			call(t, r.dir, map[string]any{"op": "diff", "from": "HEAD~1", "patch": true, "paths": []string{"a.txt"}}, &patch)
			if !strings.Contains(patch.Patch, "\n one\n+two\n") {
				t.Errorf("patch: %q", patch.Patch)
			}
			var tree struct {
				Files []struct {
					Path string
					Size int
				}
			}
			call(t, r.dir, map[string]any{"op": "ls_tree", "sort": "size", "limit": 2}, &tree)
			if got := fmt.Sprint(tree.Files); got != "[{a.txt 8} {dir/ümlaut\tb.txt 5}]" {
				t.Errorf("largest files: %s", got)
			}
			call(t, r.dir, map[string]any{"op": "ls_files", "paths": []string{"bin"}}, &tree)
			if len(tree.Files) != 1 || tree.Files[0].Path != "bin" {
				t.Errorf("index: %v", tree.Files)
			}
		})
	}
}

func TestGitBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for op, want := range map[string]string{
		"head":     `{"branch":"main","commit":null,"unborn":true}`,
		"branches": `{"refs":[],"truncated":false}`,
		"log":      `{"commits":[],"truncated":false}`,
		"count":    `{"count":0}`,
		"shortlog": `{"authors":[],"truncated":false}`,
		"ls_tree":  `{"files":[],"truncated":false}`,
		"ls_files": `{"files":[],"truncated":false}`,
		"status":   `{"changes":[],"dirty":false,"truncated":false,"untracked":[]}`,
	} {
		if got := callJSON(t, r.dir, map[string]any{"op": op}); got != want {
			t.Errorf("%s: got %s, want %s", op, got, want)
		}
	}
	if code := codeOf(t, r.dir, map[string]any{"op": "show"}); code != "not_found" {
		t.Errorf("show: %s", code)
	}
	r.write("new", "x")
	r.git("add", "new")
	want := `{"changes":[{"index":"added","path":"new","worktree":""}],"dirty":true,"truncated":false,"untracked":[]}`
	if got := callJSON(t, r.dir, map[string]any{"op": "status"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGitDetachedHead(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	hash := r.commit("a")
	r.git("checkout", "--quiet", "--detach")
	if got, want := callJSON(t, r.dir, map[string]any{"op": "head"}), `{"branch":null,"commit":"`+hash+`","unborn":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestGitFailures(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.commit("a")
	for name, tc := range map[string]struct {
		args map[string]any
		code string
	}{
		"no such revision":         {map[string]any{"op": "log", "rev": "nope"}, "not_found"},
		"an option as a revision":  {map[string]any{"op": "log", "rev": "--output=pwned"}, "invalid_input"},
		"an option in a range":     {map[string]any{"op": "log", "rev": "HEAD..--output=pwned"}, "invalid_input"},
		"three dots":               {map[string]any{"op": "log", "rev": "HEAD...HEAD"}, "invalid_input"},
		"a path out of repository": {map[string]any{"op": "log", "paths": []string{"../x"}}, "invalid_input"},
		"a path out of workspace":  {map[string]any{"op": "log", "path": "../.."}, "permission_denied"},
		"no such path":             {map[string]any{"op": "log", "path": "missing"}, "not_found"},
		"a file as a path":         {map[string]any{"op": "log", "path": "a"}, "invalid_input"},
	} {
		if code := codeOf(t, r.dir, tc.args); code != tc.code {
			t.Errorf("%s: %s, want %s", name, code, tc.code)
		}
	}
	if code := codeOf(t, realTempDir(t), map[string]any{"op": "head"}); code != "not_found" {
		t.Errorf("without a repository: %s", code)
	}
	if code := codeOf(t, "", map[string]any{"op": "head"}); code != "permission_denied" {
		t.Errorf("without a workspace: %s", code)
	}
}

func TestGitFindsTheRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("sub/deep/file", "x")
	r.write("other", "y")
	hash := r.commit("a")
	base := filepath.Dir(r.dir)
	r.git("worktree", "add", "--quiet", "-b", "side", filepath.Join(base, "linked"))
	r.git("clone", "--quiet", "--bare", r.dir, filepath.Join(base, "bare.git"))
	for name, tc := range map[string]struct{ workspace, path, branch string }{
		"at the workspace":                 {r.dir, "", "main"},
		"below the workspace":              {base, "repo/sub/deep", "main"},
		"above the workspace":              {filepath.Join(r.dir, "sub", "deep"), "", "main"},
		"linked worktree, repository near": {base, "linked", "side"},
		"linked worktree as workspace":     {filepath.Join(base, "linked"), "", "side"},
		"bare":                             {base, "bare.git", "main"},
	} {
		want := fmt.Sprintf(`{"branch":%q,"commit":%q,"unborn":false}`, tc.branch, hash)
		if got := callJSON(t, tc.workspace, map[string]any{"op": "head", "path": tc.path}); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	got := callJSON(t, filepath.Join(r.dir, "sub"), map[string]any{"op": "count", "paths": []string{"sub/deep/file"}})
	if got != `{"count":1}` {
		t.Errorf("paths are relative to the top: %s", got)
	}
	if code := codeOf(t, base, map[string]any{"op": "status", "path": "bare.git"}); code != "invalid_input" {
		t.Errorf("status of a bare repository: %s", code)
	}
	clean := `{"changes":[],"dirty":false,"truncated":false,"untracked":[]}`
	if got := callJSON(t, filepath.Join(base, "linked"), map[string]any{"op": "status"}); got != clean {
		t.Errorf("status of a linked worktree: %s", got)
	}
}

func TestGitInSubmodule(t *testing.T) {
	t.Parallel()
	inner, outer := newRepo(t), newRepo(t)
	inner.write("a", "a")
	hash := inner.commit("inner")
	outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.dir, "sub")
	outer.commit("outer")
	want := fmt.Sprintf(`{"branch":"main","commit":%q,"unborn":false}`, hash)
	for _, where := range [][2]string{{outer.dir, "sub"}, {filepath.Join(outer.dir, "sub"), ""}} {
		if got := callJSON(t, where[0], map[string]any{"op": "head", "path": where[1]}); got != want {
			t.Errorf("%v: got %s, want %s", where, got, want)
		}
	}
	outer.write("sub/a", "changed")
	if got := callJSON(t, outer.dir, map[string]any{"op": "status"}); !strings.Contains(got, `"dirty":false`) {
		t.Errorf("submodules are not entered: %s", got)
	}
}
