package checker

import (
	"encoding/json"
	"maps"
	"regexp"
)

// references are the names of the steps and nodes that the step's templates read,
// other than in the preceding round of a repeat.
func (s *step) references() map[string]bool {
	names := make(map[string]bool)
	for _, raw := range []json.RawMessage{s.Args, s.Prompt, s.DurationMS, s.Until} {
		if isNull(raw) {
			continue
		}
		if v, err := parse(raw); err == nil {
			collect(v, names)
		}
	}
	return names
}

// collect finds references at any depth of a template.
func collect(v any, names map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, part := range v {
			collect(part, names)
		}
	case map[string]any:
		collectObject(v, names)
	}
}

func collectObject(v map[string]any, names map[string]bool) {
	switch v["from"] {
	case "literal", "args", "item", "run", "previous":
		return
	case "step":
		if name, ok := v["step"].(string); ok {
			names[name] = true
		}
		return
	}
	if source, ok := v["cel"].(string); ok && len(v) == 1 {
		maps.Copy(names, celSteps(source))
		return
	}
	for _, part := range v {
		collect(part, names)
	}
}

// What an expression may read of steps, outside of its strings: steps.name or
// steps["my-step"].
var (
	celString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	celField  = regexp.MustCompile(`\bsteps\.([A-Za-z_][A-Za-z0-9_]*)`)
	celIndex  = regexp.MustCompile(`\bsteps\[["']([^"'\\]+)["']\]`)
)

func celSteps(source string) map[string]bool {
	names := make(map[string]bool)
	for _, m := range celIndex.FindAllStringSubmatch(source, -1) {
		names[m[1]] = true
	}
	for _, m := range celField.FindAllStringSubmatch(celString.ReplaceAllString(source, `""`), -1) {
		names[m[1]] = true
	}
	return names
}
