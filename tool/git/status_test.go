package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type status struct {
	Dirty     bool
	Truncated bool
	Changes   []struct{ Path, Index, Worktree string }
	Untracked []string
}

// porcelain writes a status as `git status --porcelain` does.
func (s status) porcelain() []string {
	letters := map[string]string{"": " ", "added": "A", "deleted": "D", "modified": "M", "type_changed": "T", "unmerged": "U"}
	lines := []string{}
	for _, c := range s.Changes {
		lines = append(lines, letters[c.Index]+letters[c.Worktree]+" "+c.Path)
	}
	for _, path := range s.Untracked {
		lines = append(lines, "?? "+path)
	}
	slices.Sort(lines)
	return lines
}

// sameAsGit compares the tool's status with git's own, which is safe here.
func sameAsGit(t *testing.T, r repo) status {
	t.Helper()
	var got status
	call(t, r.dir, map[string]any{"op": "status"}, &got)
	want := []string{}
	for _, line := range strings.Split(r.git("-c", "core.quotePath=false", "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all"), "\x00") {
		if line != "" {
			want = append(want, line)
		}
	}
	if len(want) > 0 && want[0][1] == ' ' && want[0][2] != ' ' { // r.git trims the first blank
		want[0] = " " + want[0]
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got.porcelain()); diff != "" {
		t.Errorf("-git +tool\n%s", diff)
	}
	if got.Dirty != (len(want) > 0) {
		t.Errorf("dirty is %t with %q", got.Dirty, want)
	}
	return got
}

func TestGitStatusAgreesWithGit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r repo){
		"nothing":             func(repo) {},
		"touched only":        func(r repo) { r.chtimes("a", time.Now().Add(-time.Hour)) },
		"modified":            func(r repo) { r.write("a", "longer than before\n") },
		"modified, same size": func(r repo) { r.write("a", "b\n") },
		"modified, same size and time": func(r repo) {
			info, _ := os.Stat(filepath.Join(r.dir, "a"))
			r.write("a", "b\n")
			r.chtimes("a", info.ModTime())
		},
		"emptied":           func(r repo) { r.write("a", "") },
		"deleted":           func(r repo) { r.remove("a") },
		"folder deleted":    func(r repo) { r.remove("dir") },
		"folder, now file":  func(r repo) { r.remove("dir"); r.write("dir", "x") },
		"file, now folder":  func(r repo) { r.remove("a"); r.write("a/b", "x") },
		"executable":        func(r repo) { _ = os.Chmod(filepath.Join(r.dir, "a"), 0o700) },
		"link changed":      func(r repo) { r.remove("link"); _ = os.Symlink("elsewhere", filepath.Join(r.dir, "link")) },
		"link, now file":    func(r repo) { r.remove("link"); r.write("link", "a") },
		"file, now link":    func(r repo) { r.remove("a"); _ = os.Symlink("dir", filepath.Join(r.dir, "a")) },
		"staged":            func(r repo) { r.write("a", "staged\n"); r.git("add", "a") },
		"staged, and again": func(r repo) { r.write("a", "staged\n"); r.git("add", "a"); r.write("a", "again\n") },
		"added":             func(r repo) { r.write("new", "x"); r.git("add", "new") },
		"renamed":           func(r repo) { r.git("mv", "a", "b") },
		"removed, kept":     func(r repo) { r.git("rm", "--quiet", "--cached", "a") },
		"intent to add":     func(r repo) { r.write("new", "x"); r.git("add", "--intent-to-add", "new") },
		"untracked":         func(r repo) { r.write("new", "x"); r.write("more/x", "x"); r.write("dir/new", "x") },
		"ignored":           func(r repo) { r.write("x.log", "x"); r.write("build/out", "x") },
		"ignored by info":   func(r repo) { r.write(".git/info/exclude", "*.tmp\n"); r.write("x.tmp", "x") },
		"assumed unchanged": func(r repo) { r.git("update-index", "--assume-unchanged", "a"); r.write("a", "changed\n") },
		"skip worktree":     func(r repo) { r.git("update-index", "--skip-worktree", "a"); r.remove("a") },
		"index version 4":   func(r repo) { r.git("update-index", "--index-version=4"); r.write("dir/c", "changed\n") },
		"split index":       func(r repo) { r.git("update-index", "--split-index"); r.write("a", "changed\n"); r.git("add", "a") },
		"odd names":         func(r repo) { r.write("with\nnewline", "x"); r.git("add", "--all"); r.write("dir/ü\t\"", "x") },
		"not file mode": func(r repo) {
			r.git("config", "core.fileMode", "false")
			_ = os.Chmod(filepath.Join(r.dir, "a"), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.t = t
			r.write("a", "a\n")
			r.write("empty", "")
			r.write("dir/c", "c\n")
			r.write(".gitignore", "*.log\nbuild/\n")
			if err := os.Symlink("a", filepath.Join(r.dir, "link")); err != nil {
				t.Fatal(err)
			}
			r.commit("base")
			change(r)
			sameAsGit(t, r)
		})
	}
}

func (r repo) chtimes(name string, at time.Time) {
	r.t.Helper()
	if err := os.Chtimes(filepath.Join(r.dir, name), at, at); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) remove(name string) {
	r.t.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

func TestGitStatusOfConflict(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "base\n")
	r.commit("base")
	r.git("checkout", "--quiet", "-b", "side")
	r.write("a", "side\n")
	r.commit("side")
	r.git("checkout", "--quiet", "main")
	r.write("a", "main\n")
	r.commit("main")
	r.git("merge", "--quiet", "--strategy=ours", "--no-commit", "side")
	r.git("reset", "--quiet", "--merge")
	r.git("read-tree", "-m", "HEAD~1", "HEAD", "side")
	var got status
	call(t, r.dir, map[string]any{"op": "status"}, &got)
	if len(got.Changes) != 1 || got.Changes[0].Worktree != "unmerged" || !got.Dirty {
		t.Errorf("got %+v", got)
	}
}

func TestGitStatusIsCappedButTellsTheTruth(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	for _, name := range []string{"a", "b", "c"} {
		r.write(name, name)
	}
	var got status
	call(t, r.dir, map[string]any{"op": "status", "limit": 2}, &got)
	if !got.Dirty || !got.Truncated || len(got.Untracked) != 2 {
		t.Errorf("got %+v", got)
	}
	got = status{}
	call(t, r.dir, map[string]any{"op": "status", "untracked": false}, &got)
	if got.Dirty || len(got.Untracked) != 0 {
		t.Errorf("without untracked files: %+v", got)
	}
}

func TestGitStatusChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a", "a")
	r.commit("a")
	r.chtimes("a", time.Now().Add(-time.Hour)) // git status would refresh the index now
	before := snapshot(t, r.dir)
	for _, op := range []string{"status", "head", "branches", "tags", "log", "show", "count", "shortlog", "ls_tree", "ls_files"} {
		callJSON(t, r.dir, map[string]any{"op": op})
	}
	if diff := cmp.Diff(before, snapshot(t, r.dir)); diff != "" {
		t.Errorf("reading wrote:\n%s", diff)
	}
}

// snapshot maps every path below dir to its content and time.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(b)
		}
		out[path] = info.ModTime().String() + content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGitLeavesNoTemporaryDirectory(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	r := newRepo(t)
	callJSON(t, r.dir, map[string]any{"op": "status"})
	codeOf(t, r.dir, map[string]any{"op": "log", "rev": "nope"})
	left, err := filepath.Glob(filepath.Join(temp, "culm-git-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
