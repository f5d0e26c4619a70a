package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/tool"
)

// isolated is a repository as git sees it: a temporary git directory, with our
// configuration, that borrows objects, references and index.
type isolated struct {
	program string
	repo    *repository
	dir     string
	env     []string
	config  repoConfig
}

// repoConfig is what of a repository's configuration decides how its data are
// read, and cannot run anything.
type repoConfig struct {
	sha256   bool
	refs     string // the format of references, "" for files
	bare     bool
	fileMode bool
	symlinks bool
	passed   map[string]string // other settings, by name
}

// isolate makes the temporary directory; close removes it.
func isolate(ctx context.Context, program string, repo *repository) (*isolated, error) {
	dir, err := os.MkdirTemp("", "culm-git-")
	if err != nil {
		return nil, tool.Failed("execution_failed", true, "make temporary git directory: "+err.Error())
	}
	g := &isolated{program: program, repo: repo, dir: dir}
	g.env = g.environment()
	if err := g.fill(ctx); err != nil {
		g.close()
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read repository: %w", context.Cause(ctx))
		}
		return nil, err
	}
	return g, nil
}

func (g *isolated) close() { _ = os.RemoveAll(g.dir) }

// environment is everything that git gets to see of this process and its user.
func (g *isolated) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + g.dir, "XDG_CONFIG_HOME=" + g.dir,
		"LC_ALL=C", "TZ=UTC",
		"GIT_DIR=" + g.dir,
		"GIT_OBJECT_DIRECTORY=" + filepath.Join(g.repo.commonDir, "objects"),
		"GIT_INDEX_FILE=" + filepath.Join(g.repo.gitDir, "index"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=" + os.DevNull,
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "GIT_LITERAL_PATHSPECS=1",
	}
	if g.repo.top != "" {
		env = append(env, "GIT_WORK_TREE="+g.repo.top)
	}
	return env
}

func (g *isolated) fill(ctx context.Context) error {
	if err := g.readConfig(ctx); err != nil {
		return err
	}
	if g.config.bare && g.repo.gitDir == g.repo.commonDir {
		g.repo.top = ""
		g.env = g.environment()
	}
	if err := g.writeConfig(); err != nil {
		return tool.Failed("execution_failed", true, "fill temporary git directory: "+err.Error())
	}
	if err := g.borrow(); err != nil {
		return tool.Failed("execution_failed", true, "fill temporary git directory: "+err.Error())
	}
	return nil
}

// readConfig has git parse the repository's configuration as a mere file, without
// its includes.
func (g *isolated) readConfig(ctx context.Context) error {
	g.config = repoConfig{fileMode: true, symlinks: true, passed: map[string]string{}}
	file := filepath.Join(g.repo.commonDir, "config")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return g.records(ctx, func(record string) error {
		key, value, hasValue := strings.Cut(record, "\n")
		if !hasValue {
			value = "true"
		}
		g.config.set(key, value)
		return nil
	}, "config", "--file", file, "--no-includes", "--list", "-z")
}

func (c *repoConfig) set(key, value string) {
	switch key {
	case "core.bare":
		c.bare = isTrue(value)
	case "core.filemode":
		c.fileMode = isTrue(value)
	case "core.symlinks":
		c.symlinks = isTrue(value)
	case "core.ignorecase", "core.precomposeunicode":
		c.passed[strings.TrimPrefix(key, "core.")] = strconv.FormatBool(isTrue(value))
	case "extensions.objectformat":
		c.sha256 = value == "sha256"
	case "extensions.refstorage":
		if value == "reftable" {
			c.refs = value
		}
	}
}

// isTrue reads a boolean as git does.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(value)
	return err == nil && n != 0
}

// writeConfig writes the configuration that git sees instead of the repository's.
func (g *isolated) writeConfig() error {
	var b strings.Builder
	b.WriteString("[core]\n\trepositoryformatversion = 1\n")
	fmt.Fprintf(&b, "\tbare = %t\n\tfilemode = %t\n\tsymlinks = %t\n", g.repo.top == "", g.config.fileMode, g.config.symlinks)
	for name, value := range g.config.passed {
		fmt.Fprintf(&b, "\t%s = %s\n", name, value)
	}
	b.WriteString("\tquotepath = false\n\tfsmonitor = false\n\tuntrackedcache = false\n\tlogallrefupdates = false\n")
	fmt.Fprintf(&b, "\thookspath = %[1]s\n\tattributesfile = %[1]s\n\texcludesfile = %[1]s\n", os.DevNull)
	b.WriteString("[protocol]\n\tallow = never\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[log]\n\tshowsignature = false\n")
	b.WriteString("[extensions]\n")
	if g.config.sha256 {
		b.WriteString("\tobjectformat = sha256\n")
	}
	if g.config.refs != "" {
		fmt.Fprintf(&b, "\trefstorage = %s\n", g.config.refs)
	}
	return os.WriteFile(filepath.Join(g.dir, "config"), []byte(b.String()), 0o600)
}

// borrow brings in what git may see of the repository. HEAD is copied, since git
// asks that it be a file of its own.
func (g *isolated) borrow() error {
	head, err := os.ReadFile(filepath.Join(g.repo.gitDir, "HEAD"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(g.dir, "HEAD"), head, 0o600); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(g.dir, "info"), 0o700); err != nil {
		return err
	}
	for _, name := range []string{"refs", "packed-refs", "shallow", "reftable", filepath.Join("info", "exclude")} {
		if err := g.link(filepath.Join(g.repo.commonDir, name), name); err != nil {
			return err
		}
	}
	shared, err := filepath.Glob(filepath.Join(escapeGlob(g.repo.gitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, file := range shared { // the base of a split index
		if err := g.link(file, filepath.Base(file)); err != nil {
			return err
		}
	}
	return nil
}

func (g *isolated) link(from, name string) error {
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.Symlink(from, filepath.Join(g.dir, name))
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
