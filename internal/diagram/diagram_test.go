package diagram_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/diagram"
	"github.com/culm-dev/culm/internal/testkit/randdef"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/workflow"
)

var update = flag.Bool("update", false, "write the golden files")

func compile(t *testing.T, file string, catalog ...string) *workflow.Program {
	t.Helper()
	src, err := workflow.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var others []*workflow.Source
	for _, name := range catalog {
		other, err := workflow.LoadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, other)
	}
	program, err := workflow.Compile(src, workflow.NewSnapshot(others...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func big(t *testing.T) *workflow.Program {
	return compile(t, "testdata/big.yaml", "testdata/inner.yaml")
}

func limits(t *testing.T, p *workflow.Program) workflow.Limits {
	t.Helper()
	l, err := workflow.Effective(p.Root.Def.Budgets, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", name, diff)
	}
}

func TestPlansAreDrawn(t *testing.T) {
	t.Parallel()
	p := big(t)
	all := diagram.Of(p, limits(t, p), diagram.Options{Depth: -1})
	golden(t, "big.txt", all.Text())
	golden(t, "big.mermaid", all.Mermaid())
	golden(t, "big.svg", all.SVG())
	closed := diagram.Of(p, limits(t, p), diagram.Options{})
	golden(t, "closed.txt", closed.Text())
}

func TestStatesOfARunAreShown(t *testing.T) {
	t.Parallel()
	p := big(t)
	plan := diagram.Of(p, workflow.Limits{}, diagram.Options{Depth: -1})
	plan.Mark(&run.Snapshot{Steps: map[string]*run.SnapshotStep{
		"one":            {ID: "one", Status: run.StatusStepSucceeded},
		"two":            {ID: "two", Status: run.StatusStepFailed},
		"seven":          {ID: "seven", Status: run.StatusStepSkipped},
		"eight@root[0]":  {ID: "eight@root[0]", Status: run.StatusStepSucceeded},
		"eight@root[1]":  {ID: "eight@root[1]", Status: run.StatusStepSuspended, InDoubt: true},
		"eight@root[2]":  {ID: "eight@root[2]", Status: run.StatusStepRunning},
		"inner":          {ID: "inner", Status: run.StatusStepRunning},
		"inner/files":    {ID: "inner/files", Status: run.StatusStepCancelled},
		"inner/count":    {ID: "inner/count", Status: run.StatusStepSuspended},
		"not-in-it@root": {ID: "not-in-it@root", Status: run.StatusStepRunning},
	}})
	golden(t, "states.txt", plan.Text())
	golden(t, "states.mermaid", plan.Mermaid())
	golden(t, "states.svg", plan.SVG())
}

func TestCleanupsAreDrawn(t *testing.T) {
	t.Parallel()
	p := compile(t, "testdata/cleanup.yaml")
	plan := diagram.Of(p, workflow.Limits{}, diagram.Options{Depth: -1})
	golden(t, "cleanup.txt", plan.Text())
	golden(t, "cleanup.mermaid", plan.Mermaid())
	golden(t, "cleanup.svg", plan.SVG())
}

// A frame may have parts that only follow in some cases; a tree may leave its own
// line out.
func TestPartsWithLabelsAreDrawn(t *testing.T) {
	t.Parallel()
	step := func(name string) *diagram.Block {
		return &diagram.Block{Key: name, Name: name, Type: "tool", Text: "exec"}
	}
	work := &diagram.Block{Kind: diagram.Sequence, Parts: []diagram.Part{{Block: step("make")}, {Block: step("work")}}}
	tidy := &diagram.Block{Kind: diagram.Sequence, Parts: []diagram.Part{{Block: step("say")}, {Block: step("remove")}}}
	plan := &diagram.Plan{Ref: "w@1", Root: &diagram.Block{
		Kind: diagram.Frame, Inline: true, Text: "with a cleanup",
		Parts: []diagram.Part{{Block: work}, {Label: "on failure", Block: step("note"), Skipped: true}, {Label: "finally", Block: tidy}},
	}}
	golden(t, "parts.txt", plan.Text())
	golden(t, "parts.mermaid", plan.Mermaid())
	golden(t, "parts.svg", plan.SVG())
}

// Whatever stands in a definition, it stays text.
func TestNothingEscapes(t *testing.T) {
	t.Parallel()
	const hostile = `"]; click n1 "javascript:alert(1)" </text><script>alert(1)</script>` + "\u202e \u0001 `md` #quot; \ufffe %%{init}%%\n end"
	src, err := workflow.FromDefinition(&workflow.Definition{
		Schema: 1, ID: "w", Revision: 1, Description: hostile,
		Steps: []*workflow.Step{
			{ID: `a"<b>&'`, Type: workflow.ToolStep, Tool: hostile},
			{ID: "end", Type: workflow.EventStep, Name: hostile},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := workflow.Compile(src, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := diagram.Of(p, workflow.Limits{}, diagram.Options{})
	elements, _ := parseSVG(t, plan.SVG())
	if elements["script"] > 0 || elements["a"] > 0 {
		t.Errorf("the picture has elements %v", elements)
	}
	for _, line := range strings.Split(strings.TrimSuffix(plan.Mermaid(), "\n"), "\n") {
		if !mermaidLine.MatchString(line) {
			t.Errorf("a line of Mermaid that means something else: %q", line)
		}
	}
	if text := plan.Text(); strings.Count(text, "\n") != 4 || strings.ContainsAny(text, "\u0001") {
		t.Errorf("the tree is\n%q", text)
	}
}

var mermaidLine = regexp.MustCompile(`^ *(flowchart TD` +
	`|n\d+(\(\(|\(\[|\[\[|\[/|\[|\(|\{)"[^"` + "`" + `<>]*(<br>[^"` + "`" + `<>]*)*"(\)\)|\]\)|\]\]|/\]|\]|\)|\})` +
	`|subgraph n\d+\["[^"]*"\]|end|n\d+ -->(\|"[^"]*"\|)? n\d+` +
	`|classDef [a-z-]+ fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6},color:#111|class n\d+(,n\d+)* [a-z-]+)$`)

// Pictures of any plan are well formed, show every step once, in a box that lies
// on the page and overlaps no other; flowcharts have every step, and edges between
// what there is; drawing again gives the same.
func TestAnyPlanCanBeDrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := randdef.Cases(randdef.Config{}).Draw(t, "case")
		p, err := workflow.CompileBundle(c.Bundle, nil)
		if err != nil {
			t.Fatal(err)
		}
		plan := diagram.Of(p, c.Limits, diagram.Options{})
		picture := plan.SVG()
		if again := diagram.Of(p, c.Limits, diagram.Options{}).SVG(); again != picture {
			t.Fatal("drawn again, it differs")
		}
		_, boxes := parseSVG(t, picture)
		if len(boxes) != len(p.Root.Def.Steps)+1 {
			t.Fatalf("%d boxes for %d steps", len(boxes)-1, len(p.Root.Def.Steps))
		}
		page, steps := boxes[0], boxes[1:]
		for i, b := range steps {
			if b.x < 0 || b.y < 0 || b.x+b.w > page.w || b.y+b.h > page.h {
				t.Fatalf("box %v lies outside of %v", b, page)
			}
			if j := slices.IndexFunc(steps[i+1:], b.overlaps); j >= 0 {
				t.Fatalf("boxes %v and %v overlap:\n%s", b, steps[i+1+j], picture)
			}
		}
		checkMermaid(t, plan.Mermaid(), p)
		for _, s := range p.Root.Def.Steps {
			if !strings.Contains(plan.Text(), " "+s.ID+" ") && !strings.Contains(plan.Text(), "\n"+s.ID+" ") {
				t.Fatalf("the tree lacks step %s:\n%s", s.ID, plan.Text())
			}
		}
		diagram.Of(p, c.Limits, diagram.Options{Depth: -1}).SVG()
	})
}

func checkMermaid(t *rapid.T, chart string, p *workflow.Program) {
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^ *(n\d+)[\[({]`).FindAllStringSubmatch(chart, -1) {
		known[m[1]] = true
	}
	reached := map[string]bool{"n1": true}
	for _, m := range regexp.MustCompile(`(n\d+) -->(?:\|"[^"]*"\|)? (n\d+)`).FindAllStringSubmatch(chart, -1) {
		if !known[m[1]] || !known[m[2]] {
			t.Fatalf("an edge between what there is not: %s\n%s", m[0], chart)
		}
		reached[m[2]] = true
	}
	if len(reached) != len(known) {
		t.Fatalf("%d of %d nodes are reached:\n%s", len(reached), len(known), chart)
	}
	for _, s := range p.Root.Def.Steps {
		if !strings.Contains(chart, `"`+s.ID+`<br>`) {
			t.Fatalf("step %s is missing:\n%s", s.ID, chart)
		}
	}
}

type box struct{ x, y, w, h int }

func (b box) overlaps(o box) bool {
	return b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h && o.y < b.y+b.h
}

// parseSVG counts the elements of a picture, and gives the page and the boxes of
// its steps.
func parseSVG(t interface {
	Helper()
	Fatalf(string, ...any)
}, picture string) (elements map[string]int, boxes []box) {
	t.Helper()
	elements = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, boxes
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, picture)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		elements[start.Name.Local]++
		attribute := map[string]string{}
		for _, a := range start.Attr {
			attribute[a.Name.Local] = a.Value
		}
		number := func(name string) int { n, _ := strconv.Atoi(attribute[name]); return n }
		if class := attribute["class"]; start.Name.Local == "rect" && (class == "page" || strings.HasPrefix(class, "step")) {
			boxes = append(boxes, box{number("x"), number("y"), number("width"), number("height")})
		}
	}
}
