package workflow_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
	"github.com/culm-dev/culm/workflow"
)

// untidy and tidy are one definition.
const untidy = `# yaml-language-server: $schema=x
---

# About it all.


revision:   1   # the first
id: "w"


workflow_schema: 1
plan:
# The plan is short.
- a


- parallel: [ b,c ]
  id:    both
- do: { parallel: [d], id: inner }
  map:
      from: args
      # No pointer.
  concurrency: 2
  as: x
    # after all of the plan
# about steps
steps:
-   type: tool
    id: a
    # What it is given.
    args:
        text: |
              # no comment
                indented

              end
            # a comment after it
        folded: >2-
            two
           three
        plain: it's
          going on   
          and on
        quoted: "and  
             so \
             on"
        flow: [1,
            # in between
            2,   3]
        deep:
        - - one
          - two
        -
            # above a key
            k: v
    tool: 't'
- # behind a dash
  {type: sleep, id: b, duration_ms: {b: 1,a: 2}}
- {id: c, type: tool, failure: fail_fast, tool: t, args: {z: "a, b", "y": [ ] , x: 'don''t'}}
-
  on_unknown: rerun
  id: d
  type: tool

  # Above the tool.
  tool: t
  # below it
# the end
...
`

// notes are the comments of a messy document.
func notes(text string) []string {
	found := regexp.MustCompile(`# note [0-9]+: "x`).FindAllString(text, -1)
	slices.Sort(found)
	return found
}

// formatted formats a document that must be formattable, and checks what holds
// for every one.
func formatted(t interface {
	Helper()
	Fatalf(string, ...any)
}, name, doc string) string {
	t.Helper()
	tidy, err := workflow.Format(name, []byte(doc))
	if err != nil {
		t.Fatalf("format: %v:\n%s", err, doc)
	}
	before, err := workflow.Load(name, []byte(doc))
	if err != nil {
		t.Fatalf("load: %v:\n%s", err, doc)
	}
	after, err := workflow.Load(name, tidy)
	if err != nil {
		t.Fatalf("load what was formatted: %v:\n%s", err, tidy)
	}
	want, errWant := before.Definition().Hash()
	got, errGot := after.Definition().Hash()
	if want != got || errWant != nil || errGot != nil {
		t.Fatalf("it means something else (%v, %v):\n%s\nfrom:\n%s", errWant, errGot, tidy, doc)
	}
	again, err := workflow.Format(name, tidy)
	if err != nil || string(again) != string(tidy) {
		t.Fatalf("formatted again (%v):\n%s\nfrom:\n%s", err, cmp.Diff(string(tidy), string(again)), doc)
	}
	return string(tidy)
}

func TestFormatIsTidy(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/tidy.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), formatted(t, "w.yaml", untidy)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Whatever a document looks like, its tidy form means the same, is tidy itself,
// and no comment is lost.
func TestFormatKeepsMeaningAndComments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := messyYAML(t, messyDefinition(t))
		tidy := formatted(t, "w.yaml", doc)
		if diff := cmp.Diff(notes(doc), notes(tidy)); diff != "" {
			t.Fatalf("comments (-before +after):\n%s\n%s\nfrom:\n%s", diff, tidy, doc)
		}
	})
}

// messyDefinition draws a definition as decoded JSON, with any value anywhere
// that any value may stand.
func messyDefinition(t *rapid.T) any {
	def := definition(t)
	def.Output = nil
	raw, err := def.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	v, err := canon.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	fields := v.(map[string]any)
	fields["plan"] = inShorthand(fields["plan"], rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shorthand"), 0)))
	fields["output"] = map[string]any{"text of it": rapid.SampledFrom([]string{
		"a\nb\n", "a", "a\n\n b\n\n", " a\nb", "\n\na # b\n", "it: a\n", "abcdefg", "a\n\n\n",
	}).Draw(t, "text"), "n": jsonValue(2).Draw(t, "output")}
	return fields
}

// inShorthand writes a plan in shorthand, here and there.
func inShorthand(plan any, rnd *rand.Rand) any {
	switch node := plan.(type) {
	case []any:
		for i := range node {
			node[i] = inShorthand(node[i], rnd)
		}
	case map[string]any:
		for name, value := range node {
			if slices.Contains([]string{"nodes", "then_branch", "else_branch", "body", "node", "cleanup"}, name) {
				node[name] = inShorthand(value, rnd)
			}
		}
		if rnd.IntN(2) == 0 {
			return shorthand(node)
		}
	}
	return plan
}

// shorthand is a canonical node in the other form.
func shorthand(node map[string]any) any {
	typ := node["type"]
	switch {
	case typ == "step":
		return node["step"]
	case typ == "sequence" && node["id"] == nil:
		return node["nodes"]
	case typ == "sequence":
		return node
	}
	renamed := map[string]map[string]string{
		"parallel": {"nodes": "parallel"},
		"choice":   {"condition": "if", "then_branch": "then", "else_branch": "else"},
		"map":      {"source": "map", "item": "as", "body": "do"},
		"retry":    {"node": "retry", "max_attempts": "attempts"},
		"repeat":   {"body": "repeat"},
		"finally":  {"node": "do", "cleanup": "finally"},

		"on_failure": {"node": "do", "cleanup": "on_failure"},
	}[typ.(string)]
	short := map[string]any{}
	for name, value := range node {
		if other, ok := renamed[name]; ok {
			name = other
		}
		short[name] = value
	}
	delete(short, "type")
	return short
}

// A file of one long line is read and tidied as fast as one of many.
func TestFormatOfALongLine(t *testing.T) {
	t.Parallel()
	var steps []string
	for i := range 3000 {
		steps = append(steps, fmt.Sprintf("{id: s%d, type: tool, tool: t, args: {a: [1, {b: 2}]}}", i))
	}
	doc := head + "steps: [" + strings.Join(steps, ", ") + "]\n"
	if got := formatted(t, "w.yaml", doc); got != doc {
		t.Error("it was not tidy")
	}
}

func TestFormatOfJSON(t *testing.T) {
	t.Parallel()
	const doc = `{"steps": [{"tool":"t", "args": {"b":1.50, "a":"é\u00e9\/"} ,"type":"tool","id":"a"}, {"id":"b",
 "args":[],
"type":"tool","tool":"t"}], "id":"w", "revision": 9007199254740993e0, "workflow_schema":1,
"plan": ["a", {"do":"b","map":[1,
 2],"as":"i","concurrency":1}]}`
	const want = `{
  "workflow_schema": 1,
  "id": "w",
  "revision": 7,
  "steps": [
    {"id": "a", "type": "tool", "tool": "t", "args": {"b": 1.50, "a": "éé/"}},
    {
      "id": "b",
      "type": "tool",
      "tool": "t",
      "args": []
    }
  ],
  "plan": [
    "a",
    {
      "map": [
        1,
        2
      ],
      "as": "i",
      "concurrency": 1,
      "do": "b"
    }
  ]
}
`
	got := formatted(t, "w.json", strings.Replace(doc, "9007199254740993e0", "7", 1))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFormatKeepsTheMeaningOfCanonicalJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := canon.Encode(messyDefinition(t))
		if err != nil {
			t.Fatal(err)
		}
		formatted(t, "w.json", string(raw))
	})
}

// What cannot be read is not formatted, and says why; what cannot be tidied
// safely is left alone.
func TestFormatRefuses(t *testing.T) {
	t.Parallel()
	var errs workflow.Errors
	if _, err := workflow.Format("w.yaml", []byte(head+"stepz: []\n")); !errors.As(err, &errs) || !errs.Has(workflow.UnknownField) {
		t.Errorf("a misspelt field: %v", err)
	}
	for name, doc := range map[string]string{
		"a line break of YAML's own":  head + "steps: [{id: a, type: tool, tool: t}]\noutput: \"a\u2028b\"\n",
		"a text that ends in no line": head + "steps: [{id: a, type: tool, tool: t}]\noutput: |\n  a",
	} {
		if _, err := workflow.Format("w.yaml", []byte(doc)); !errors.Is(err, workflow.ErrLayout) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFormatOfStrangeLayouts(t *testing.T) {
	t.Parallel()
	steps := "steps: [{id: a, type: tool, tool: t}]\n"
	for name, tt := range map[string]struct{ doc, want string }{
		"explicit keys are left as they are": {
			head + steps + "output:\n    ? a\n    : [1,\n       2]\n    ? b\n    :\n      - c\n",
			head + steps + "output:\n  ? a\n  : [1,\n     2]\n  ? b\n  :\n    - c\n",
		},
		"nothing, and lists of nothing": {
			head + steps + "output:\n    -\n    - a:\n    -\n",
			head + steps + "output:\n  -\n  - a:\n  -\n",
		},
		"tags": {
			head + steps + "output: !!map\n     a: !!str 1\n     b: !!seq\n      - c\n",
			head + steps + "output: !!map\n  a: !!str 1\n  b: !!seq\n   - c\n",
		},
		"flow style all over": {
			"{workflow_schema: 1, id: w, revision: 1,   \n  steps: [{type: tool, id: a, tool: t}]}   \n\n\n",
			"{workflow_schema: 1, id: w, revision: 1,\n  steps: [{type: tool, id: a, tool: t}]}\n",
		},
		"CR LF and a byte order mark": {
			"\ufeff" + strings.ReplaceAll(head+steps+"output: |\n   a\n   b\n", "\n", "\r\n"),
			head + steps + "output: |\n  a\n  b\n",
		},
		"fields without values": {
			head + steps + "output:\n",
			head + steps + "output:\n",
		},
	} {
		if diff := cmp.Diff(tt.want, formatted(t, "w.yaml", tt.doc)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
