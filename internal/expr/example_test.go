package expr_test

import (
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm/internal/expr"
)

// review is an environment with arguments and one finished step.
type review struct{}

func (review) Args() (any, error) { return map[string]any{"patch": "diff --git ..."}, nil }
func (review) Step(name string) (any, bool, error) {
	if name != "score" {
		return nil, false, nil
	}
	return map[string]any{"value": json.Number("8"), "files": []any{"a.go"}}, true, nil
}
func (review) Previous(string) (any, bool, error) { return nil, false, nil }
func (review) Item(string) (any, bool, error)     { return nil, false, nil }
func (review) Outcome() (any, bool, error)        { return nil, false, nil }
func (review) Run() (map[string]any, error)       { return nil, nil }

func ExampleParseTemplate() {
	template, problems := expr.ParseTemplate([]byte(`{
		"title":  {"text": ["Review of ", {"from": "step", "step": "score", "pointer": "/files"}]},
		"patch":  {"from": "args", "pointer": "/patch"},
		"strict": {"from": "args", "pointer": "/strict", "default": false},
		"note":   "{{this}} is no reference, and neither is:",
		"mail":   {"from": "me@example.org"}
	}`))
	if len(problems) > 0 {
		panic(problems)
	}
	value, err := template.Eval(review{})
	if err != nil {
		panic(err)
	}
	out, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		panic(err)
	}
	fmt.Println(string(out))
	// Output:
	// {
	//   "mail": {
	//     "from": "me@example.org"
	//   },
	//   "note": "{{this}} is no reference, and neither is:",
	//   "patch": "diff --git ...",
	//   "strict": false,
	//   "title": "Review of [\"a.go\"]"
	// }
}

func ExampleTemplate_CheckCEL() {
	template, problems := expr.ParseTemplate([]byte(`{"cel": "steps.score.value >= 7 && size(args.patch) < 100"}`))
	if len(problems) > 0 {
		panic(problems)
	}
	for _, use := range template.Root().Uses {
		fmt.Printf("uses %s %q\n", use.Kind, use.Name)
	}
	if problems := template.CheckCEL(expr.CELTypes{Steps: nil}); len(problems) > 0 {
		fmt.Println(problems[0].Message)
	}
	// Output:
	// uses step "score"
	// uses args ""
	// steps has no "score"
}
