package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/workflow"
)

// configFile is the name of the settings in a workspace.
const configFile = "culm.yaml"

// config is what culm.yaml says.
type config struct {
	Path     string // "" if there is none
	Store    string
	Ceilings workflow.Budgets
	Rerun    []tool.Effect // of continue
}

// loadConfig reads the settings. Without --config a workspace may have none.
func (in *invocation) loadConfig() (*config, error) {
	path, asked := in.global.config, in.global.config != ""
	if !asked {
		path = filepath.Join(in.global.workspace, configFile)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return &config{}, nil
	}
	if err != nil {
		return nil, &Failure{Exit: ExitUsage, Code: codeInvalidConfig, Message: "read settings: " + err.Error()}
	}
	c, problems := parseConfig(data)
	if len(problems) > 0 {
		return nil, configFailure(path, data, problems)
	}
	c.Path = path
	scheme, rest, _ := strings.Cut(c.Store, ":")
	if (scheme == "sqlite" || scheme == "file") && rest != "" && !filepath.IsAbs(rest) {
		c.Store = scheme + ":" + filepath.Join(filepath.Dir(path), rest)
	}
	return c, nil
}

// problem is one thing wrong with the settings.
type problem struct {
	Line    int    `json:"line"`
	Col     int    `json:"col"`
	Width   int    `json:"-"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// parseConfig reads settings strictly and reports all that is wrong.
func parseConfig(data []byte) (*config, []problem) {
	c, r := &config{}, &configReader{}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, []problem{{Line: 1, Col: 1, Message: err.Error()}}
	}
	if len(doc.Content) == 0 { // empty, or only comments
		return c, nil
	}
	r.object(doc.Content[0], map[string]func(*yaml.Node){
		"store":    func(n *yaml.Node) { c.Store = r.text(n) },
		"ceilings": func(n *yaml.Node) { r.ceilings(n, &c.Ceilings) },
		"continue": func(n *yaml.Node) {
			r.object(n, map[string]func(*yaml.Node){
				"rerun": func(n *yaml.Node) { c.Rerun = r.effects(n) },
			})
		},
	})
	return c, r.problems
}

type configReader struct{ problems []problem }

func (r *configReader) wrong(n *yaml.Node, hint, format string, args ...any) {
	r.problems = append(r.problems, problem{
		Line: n.Line, Col: n.Column, Width: max(len(n.Value), 1), Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// object hands the values of a mapping to the readers of its fields.
func (r *configReader) object(n *yaml.Node, fields map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.wrong(n, "", "expected fields: %s", strings.Join(fieldNames(fields), ", "))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			r.wrong(key, "", "expected the name of a field")
		case seen[key.Value]:
			r.wrong(key, "", "%s stands here twice", key.Value)
		case read == nil:
			r.wrong(key, didYouMean(key.Value, fieldNames(fields)), "unknown field %q", key.Value)
		default:
			seen[key.Value] = true
			read(value)
		}
	}
}

func fieldNames(fields map[string]func(*yaml.Node)) []string {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// didYouMean names what was probably meant, or else everything that is allowed.
func didYouMean(word string, allowed []string) string {
	if near := canon.Near(word, allowed); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "expected " + strings.Join(allowed, ", ")
}

func (r *configReader) text(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" || n.Value == "" {
		r.wrong(n, "", "expected a text")
	}
	return n.Value
}

func (r *configReader) ceilings(n *yaml.Node, b *workflow.Budgets) {
	fields := map[string]func(*yaml.Node){}
	for _, c := range ceilingFields() {
		fields[c.name] = func(n *yaml.Node) { *c.of(b) = r.number(n, c.least) }
	}
	r.object(n, fields)
}

func (r *configReader) number(n *yaml.Node, least int64) *int64 {
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || v < least {
		r.wrong(n, "", "expected a whole number, at least %d", least)
		return nil
	}
	return &v
}

// effects reads which steps in doubt may be entered again without asking. What
// is not harmless to repeat never may.
func (r *configReader) effects(n *yaml.Node) []tool.Effect {
	if n.Kind != yaml.SequenceNode {
		r.wrong(n, "", "expected a list, such as [read]")
		return nil
	}
	var effects []tool.Effect
	for _, item := range n.Content {
		e, err := rerunnable(item.Value)
		if item.Kind != yaml.ScalarNode || err != nil {
			r.wrong(item, "", "%v", errRerunnable)
			continue
		}
		effects = append(effects, e)
	}
	return effects
}

var errRerunnable = errors.New("expected read or idempotent: a write is repeated only step by step, by culm resolve")

func rerunnable(word string) (tool.Effect, error) {
	if e := tool.Effect(word); e == tool.Read || e == tool.Idempotent {
		return e, nil
	}
	return "", errRerunnable
}

// configFailure shows the problems as compilers do: the line, and a caret.
func configFailure(path string, data []byte, problems []problem) *Failure {
	lines := strings.Split(string(data), "\n")
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = fmt.Sprintf("%s:%d:%d: %s", path, p.Line, p.Col, p.Message)
	}
	return &Failure{
		Exit: ExitUsage, Code: codeInvalidConfig, Message: strings.Join(messages, "\n"),
		Details: map[string]any{"file": path, "errors": problems},
		Long: func(w io.Writer, colour bool) {
			for _, p := range problems {
				p.render(w, path, lines, term.NewPalette(colour))
			}
		},
	}
}

func (p problem) render(w io.Writer, path string, lines []string, palette term.Palette) {
	fmt.Fprintf(w, "%s %s %s\n", palette.Bold(fmt.Sprintf("%s:%d:%d:", path, p.Line, p.Col)),
		palette.Bad(codeInvalidConfig+":"), palette.Bold(term.Clean(p.Message)))
	if p.Line < 1 || p.Line > len(lines) {
		return
	}
	mark := "^" + strings.Repeat("~", max(p.Width-1, 0))
	fmt.Fprintf(w, "%4d | %s\n", p.Line, term.Clean(lines[p.Line-1]))
	fmt.Fprintf(w, "     | %s%s\n", strings.Repeat(" ", max(p.Col-1, 0)), palette.Good(mark))
	if p.Hint != "" {
		fmt.Fprintf(w, "     = %s\n", p.Hint)
	}
}
