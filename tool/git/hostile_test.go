package git_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newHostileRepo is a repository whose configuration runs a program that leaves a
// file wherever git can be made to run one.
func newHostileRepo(t *testing.T) (r repo, canaries string) {
	t.Helper()
	r = newRepo(t)
	canaries = realTempDir(t)
	trap := func(name string) string {
		path := filepath.Join(canaries, name+".sh")
		script := fmt.Sprintf("#!/bin/sh\ntouch %s/%s.canary\nexit 1\n", canaries, name)
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	r.write("a.txt", "a\n")
	r.write("b.txt", "b\n")
	r.write("sub/c.txt", "c\n")
	r.commit("first")
	r.write("a.txt", "changed\n")
	r.commit("second\n\ngpgsig lookalike")
	r.git("tag", "v1")
	signCommit(r)

	r.write(".gitattributes", "* filter=evil diff=evil merge=evil text=auto ident\nsub/* filter=simple\n")
	r.write(".git/info/attributes", "* diff=evil\n")
	r.write("extra.config", "[core]\n\tfsmonitor = "+trap("include-fsmonitor")+"\n\tpager = "+trap("include-pager")+"\n")
	for key, value := range map[string]string{
		"core.fsmonitor": trap("fsmonitor"), "core.hooksPath": filepath.Join(canaries, "hooks"),
		"filter.evil.clean": trap("clean"), "filter.evil.smudge": trap("smudge"), "filter.evil.process": trap("process"),
		"filter.evil.required": "true", "filter.simple.clean": trap("simple-clean"), "filter.simple.smudge": trap("simple-smudge"),
		"diff.evil.textconv": trap("textconv"), "diff.evil.command": trap("diffcommand"), "diff.external": trap("external"),
		"merge.evil.driver": trap("merge"),
		"gpg.program":       trap("gpg"), "gpg.ssh.program": trap("gpgssh"), "gpg.x509.program": trap("gpgx509"),
		"log.showSignature": "true", "core.pager": trap("pager"), "pager.log": trap("pagerlog"), "pager.rev-list": trap("pagerrevlist"),
		"core.editor": trap("editor"), "core.sshCommand": trap("ssh"), "core.askPass": trap("askpass"), "core.gitProxy": trap("proxy"),
		"credential.helper": trap("credential"), "core.alternateRefsCommand": trap("alternaterefs"),
		"alias.rev-list": "!" + trap("aliasrevlist"), "alias.log": "!" + trap("aliaslog"), "alias.status": "!" + trap("aliasstatus"),
		"uploadpack.packObjectsHook": trap("packobjects"), "trailer.evil.command": trap("trailer"),
		"remote.origin.url": "ext::" + trap("ext"), "remote.origin.promisor": "true", "remote.origin.partialCloneFilter": "blob:none",
		"remote.origin.uploadpack": trap("uploadpack"), "protocol.allow": "always", "extensions.partialClone": "origin",
		"core.repositoryFormatVersion": "1", "core.untrackedCache": "true", "core.attributesFile": filepath.Join(r.dir, ".gitattributes"),
		"include.path": filepath.Join(r.dir, "extra.config"), "safe.directory": "*", "core.worktree": canaries,
	} {
		r.plain("config", "--file", filepath.Join(r.dir, ".git", "config"), key, value)
	}
	for _, folder := range []string{filepath.Join(r.dir, ".git", "hooks"), filepath.Join(canaries, "hooks")} {
		for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-auto-gc"} {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(trap("hook-"+hook), filepath.Join(folder, hook)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Changed times make every comparison look at contents.
	for _, name := range []string{"a.txt", "b.txt", "sub/c.txt"} {
		r.write(name, "touched "+name)
	}
	// A missing blob makes a partial clone fetch it.
	blob := r.plain("--git-dir="+filepath.Join(r.dir, ".git"), "rev-parse", "HEAD:b.txt")
	r.remove(filepath.Join(".git", "objects", blob[:2], blob[2:]))
	return r, canaries
}

// plain runs git as r.git does, but outside of the repository.
func (r repo) plain(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Dir(r.dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_NO_LAZY_FETCH=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.worktree", "GIT_CONFIG_VALUE_0=" + r.dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// signCommit makes HEAD a commit with a signature, which log.showSignature would
// have a program check.
func signCommit(r repo) {
	r.t.Helper()
	raw := r.git("cat-file", "commit", "HEAD")
	header, message, _ := strings.Cut(raw, "\n\n")
	signed := header + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n AAAA\n -----END PGP SIGNATURE-----\n\n" + message + "\n"
	r.write("commit.raw", signed)
	hash := r.git("hash-object", "-t", "commit", "-w", "commit.raw")
	r.remove("commit.raw")
	r.git("update-ref", "refs/heads/main", hash)
}

func sprung(t *testing.T, canaries string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(canaries, "*.canary"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestGitRunsNothingOfAHostileRepository(t *testing.T) {
	t.Parallel()
	r, canaries := newHostileRepo(t)
	for _, args := range []map[string]any{
		{"op": "head"}, {"op": "branches"}, {"op": "tags"}, {"op": "log"}, {"op": "log", "paths": []string{"a.txt"}},
		{"op": "show", "patch": true}, {"op": "show", "rev": "v1", "patch": true},
		{"op": "diff", "from": "HEAD~1"}, {"op": "diff", "from": "HEAD~1", "patch": true},
		{"op": "count"}, {"op": "shortlog"}, {"op": "ls_tree"}, {"op": "ls_tree", "sort": "size"},
		{"op": "ls_files"}, {"op": "status"}, {"op": "status", "path": "sub"},
	} {
		callJSON(t, r.dir, args)
		if found := sprung(t, canaries); len(found) > 0 {
			t.Fatalf("%v ran %v", args, found)
		}
	}
	var got status
	call(t, r.dir, map[string]any{"op": "status"}, &got)
	if !got.Dirty || len(got.Changes) != 3 {
		t.Errorf("status of the true working tree: %+v", got)
	}
}

// The traps must work, or the test above would prove nothing.
func TestHostileRepositoryTrapsPlainGit(t *testing.T) {
	t.Parallel()
	r, canaries := newHostileRepo(t)
	noProcess := []string{"-c", "filter.evil.process=", "-c", "filter.evil.required=false"} // it would end git before the rest
	for _, args := range [][]string{
		{"status"}, {"add", "--all"}, {"cat-file", "-p", "HEAD:b.txt"}, {"log", "--show-signature"},
		slices.Concat(noProcess, []string{"diff", "HEAD~1", "HEAD", "--", "a.txt"}),
		slices.Concat(noProcess, []string{"diff", "--no-ext-diff", "HEAD~1", "HEAD", "--", "a.txt"}),
		{"add", "sub"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.WaitDelay = time.Second
		cmd.Dir = r.dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + canaries, "GIT_WORK_TREE=" + r.dir, "GIT_CONFIG_NOSYSTEM=1"}
		_ = cmd.Run() // most fail: the programs do not do what git asks for
	}
	for _, name := range []string{"include-fsmonitor", "diffcommand", "textconv", "gpg", "process", "simple-clean", "ext"} {
		if _, err := os.Stat(filepath.Join(canaries, name+".canary")); err != nil {
			t.Errorf("the trap %s is none: %v", name, err)
		}
	}
}

func TestGitDoesNotReadAnotherRepository(t *testing.T) {
	t.Parallel()
	private := newRepo(t)
	private.write("secret", "s")
	private.commit("private")
	privateGit := filepath.Join(private.dir, ".git")
	for name, arrange := range map[string]func(r repo){
		"by a .git file":       func(r repo) { r.remove(".git"); r.write(".git", "gitdir: "+privateGit+"\n") },
		"by a .git link":       func(r repo) { r.remove(".git"); r.symlink(privateGit, ".git") },
		"by commondir":         func(r repo) { r.write(".git/commondir", privateGit+"\n") },
		"by a link to refs":    func(r repo) { r.remove(".git/refs"); r.symlink(filepath.Join(privateGit, "refs"), ".git/refs") },
		"by a link below refs": func(r repo) { r.symlink(filepath.Join(privateGit, "refs", "heads"), ".git/refs/heads/theirs") },
		"by a link to objects": func(r repo) {
			r.remove(".git/objects")
			r.symlink(filepath.Join(privateGit, "objects"), ".git/objects")
		},
		"by a link to index": func(r repo) { r.remove(".git/index"); r.symlink(filepath.Join(privateGit, "index"), ".git/index") },
		"by a link to HEAD":  func(r repo) { r.remove(".git/HEAD"); r.symlink(filepath.Join(privateGit, "HEAD"), ".git/HEAD") },
		"by a link to packed-refs": func(r repo) {
			private.git("pack-refs", "--no-prune")
			r.symlink(filepath.Join(privateGit, "packed-refs"), ".git/packed-refs")
		},
		"by a link to info/exclude": func(r repo) {
			r.remove(".git/info/exclude")
			r.symlink(filepath.Join(private.dir, "secret"), ".git/info/exclude")
		},
	} {
		r := newRepo(t)
		r.write("a", "a")
		r.commit("a")
		arrange(r)
		if code := codeOf(t, r.dir, map[string]any{"op": "log"}); code != "permission_denied" {
			t.Errorf("%s: code %s", name, code)
		}
	}
}

func (r repo) symlink(target, name string) {
	r.t.Helper()
	if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

func TestGitStatusDoesNotFollowLinksOutOfTheTree(t *testing.T) {
	t.Parallel()
	outside := realTempDir(t)
	if err := os.WriteFile(filepath.Join(outside, "f"), []byte("same"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRepo(t)
	r.write("dir/f", "same")
	r.commit("a")
	r.remove("dir")
	r.symlink(outside, "dir")
	got := sameAsGit(t, r)
	if len(got.Changes) != 1 || got.Changes[0].Worktree != "deleted" {
		t.Errorf("got %+v", got)
	}
}

func TestGitOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a repository to another user")
	}
	r := newRepo(t)
	r.write("a", "a")
	r.commit("a")
	err := filepath.WalkDir(r.dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 12345, 12345)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := callJSON(t, r.dir, map[string]any{"op": "count"}); got != `{"count":1}` {
		t.Errorf("got %s", got)
	}
}
