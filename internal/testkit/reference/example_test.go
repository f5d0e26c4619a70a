package reference_test

import (
	"fmt"
	"slices"

	"github.com/culm-dev/culm/internal/testkit/reference"
	"github.com/culm-dev/culm/workflow"
)

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func ExampleRun() {
	src, err := workflow.Load("w.yaml", []byte(`
workflow_schema: 1
id: w
revision: 1
steps:
  - {id: a, type: tool, tool: add, args: {to: 1}}
  - {id: b, type: tool, tool: add, args: {to: {from: step, step: a}}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	prog, err := workflow.Compile(src, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := reference.Run(prog.Bundle, reference.Options{
		Args:   map[string]any{},
		Limits: workflow.Limits{MaxSteps: 10},
		Tool: func(c reference.Call) (any, *reference.Failure) {
			return fmt.Sprintf("%v+1", c.Args.(map[string]any)["to"]), nil
		},
	})
	fmt.Println(res.Output, res.Steps, err)
	// Output: 1+1+1 map[a:succeeded b:succeeded] <nil>
}
