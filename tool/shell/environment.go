package shell

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/culm-dev/culm/tool"
)

// allowedVariables are those of this process that every program sees.
func allowedVariables() []string {
	return []string{"PATH", "HOME", "LANG", "LC_*", "TERM", "TMPDIR", "USER", "LOGNAME", "SHELL", "TZ"}
}

// environment is the program's, sorted: allowed variables, then those of the
// call, then those that were asked for.
func (o Options) environment(c tool.Call, extra map[string]string, dir string) ([]string, error) {
	vars := make(map[string]string)
	allowed := append(allowedVariables(), o.Env...)
	for _, kv := range os.Environ() {
		if name, value, ok := strings.Cut(kv, "="); ok && allows(allowed, name) {
			vars[name] = value
		}
	}
	vars["PWD"] = dir
	vars["CULM_RUN_ID"] = c.RunID
	vars["CULM_STEP_ID"] = c.StepID
	vars["CULM_ATTEMPT"] = strconv.Itoa(c.Attempt)
	vars["CULM_IDEMPOTENCY_KEY"] = c.IdempotencyKey
	for name, value := range extra {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, tool.Failed("invalid_input", false, fmt.Sprintf("%q cannot be an environment variable", name))
		}
		vars[name] = value
	}
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env, nil
}

func allows(allowed []string, name string) bool {
	return slices.ContainsFunc(allowed, func(pattern string) bool {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		return pattern == name || isPrefix && strings.HasPrefix(name, prefix)
	})
}

// lookPath finds the program in the program's own PATH. A name with a slash is
// relative to the folder that it runs in; folders of PATH that are not absolute
// are passed over.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, executable(name, path)
	}
	for _, folder := range filepath.SplitList(valueOf(env, "PATH")) {
		path := filepath.Join(folder, name)
		if filepath.IsAbs(folder) && executable(name, path) == nil {
			return path, nil
		}
	}
	return "", tool.Failed("not_found", false, fmt.Sprintf("no program %q in PATH", name))
}

func executable(name, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return tool.Failed("not_found", false, fmt.Sprintf("no program %q: %v", name, err))
	case info.IsDir():
		return tool.Failed("invalid_input", false, fmt.Sprintf("%q is a folder, not a program", name))
	case info.Mode()&0o111 == 0:
		return tool.Failed("permission_denied", false, fmt.Sprintf("%q is not executable: chmod +x it", name))
	}
	return nil
}

func valueOf(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
