// Package builtin gathers the tools that ship with Culm.
package builtin

import (
	"slices"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/echo"
	"github.com/culm-dev/culm/tool/file"
	"github.com/culm-dev/culm/tool/git"
	"github.com/culm-dev/culm/tool/jq"
	"github.com/culm-dev/culm/tool/shell"
)

// Options are passed on to the tools. The zero value is usable.
type Options struct {
	Shell shell.Options
	Git   git.Options
}

// Tools returns all built-in tools: echo, exec, read_file, write_file, edit_file,
// list_dir, glob, grep, git and json.
func Tools(o Options) []tool.Tool {
	return slices.Concat(
		[]tool.Tool{echo.New(), shell.New(o.Shell)},
		file.Tools(),
		[]tool.Tool{git.New(o.Git), jq.New()},
	)
}
