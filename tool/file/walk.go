package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/culm-dev/culm/tool"
)

// walk visits everything below start, in lexical order of each folder. It follows
// no symbolic link, leaves out .git, and passes over folders that cannot be read.
// start is a slash-separated path; so are those that visit gets, relative to root.
func walk(ctx context.Context, root *os.Root, start string, visit func(name string, d fs.DirEntry) error) error {
	return fs.WalkDir(root.FS(), start, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && name == start:
			return err
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		default:
			return visit(name, d)
		}
	})
}

// pattern is a glob pattern: * and ? within a name, ** over folders, {a,b}
// alternatives, [a-z] classes.
type pattern struct {
	text  string
	depth int // the most names that a match can have, 0 if unlimited
}

func parsePattern(text string) (pattern, error) {
	if !doublestar.ValidatePattern(text) {
		return pattern{}, tool.Failed("invalid_input", false, "the glob pattern is malformed: "+text)
	}
	if path.IsAbs(text) || strings.HasPrefix(path.Clean(text)+"/", "../") {
		return pattern{}, tool.Failed("permission_denied", false, "the glob pattern leads out of its folder: "+text)
	}
	p := pattern{text: path.Clean(text)}
	if !strings.Contains(p.text, "**") && !strings.ContainsAny(p.text, `{[\`) {
		p.depth = strings.Count(p.text, "/") + 1
	}
	return p, nil
}

func (p pattern) matches(name string) bool { return doublestar.MatchUnvalidated(p.text, name) }

// tooDeep says that nothing inside the folder of that name can match.
func (p pattern) tooDeep(folder string) bool {
	return p.depth > 0 && folder != "." && strings.Count(folder, "/")+1 >= p.depth
}

// errEnough ends a walk that has found what it may return.
var errEnough = errors.New("enough")

// below is name relative to the folder base; both are slash-separated and clean.
func below(base, name string) string {
	if base == "." {
		return name
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
}
