package engine

import (
	"context"
	"path/filepath"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/kernel"
	"github.com/culm-dev/culm/internal/schema"
)

// readPaths are the folders outside the workspace that the run's arguments name:
// the values of top-level arguments whose schema says "x-path": true. They follow
// from what is pinned, so that every owner of the run finds the same.
func (o *owner) readPaths(ctx context.Context) ([]string, error) {
	if o.pathsKnown {
		return o.paths, nil
	}
	names := pathArguments(o.prog.Root.Input)
	if len(names) == 0 {
		o.pathsKnown = true
		return nil, nil
	}
	v, err := o.vals.load(ctx, kernel.Val{Kind: kernel.Stored, Value: o.state().Args})
	if err != nil {
		return nil, err
	}
	args, _ := v.(map[string]any)
	var paths []string
	for _, name := range names {
		path, ok := args[name].(string)
		if !ok || path == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.state().Workspace, path)
		}
		paths = append(paths, filepath.Clean(path))
	}
	o.paths, o.pathsKnown = paths, true
	return paths, nil
}

// pathArguments are the arguments that an input schema marks as paths.
func pathArguments(input *schema.Schema) []string {
	doc, err := canon.Decode(input.Raw())
	if err != nil {
		return nil
	}
	root, _ := doc.(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	var names []string
	for name, property := range properties {
		if p, ok := property.(map[string]any); ok && p["x-path"] == true {
			names = append(names, name)
		}
	}
	return names
}
