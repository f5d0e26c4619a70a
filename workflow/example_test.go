package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/culm-dev/culm/workflow"
)

func ExampleLoad() {
	src, err := workflow.Load("hello.yaml", []byte(`
workflow_schema: 1
id: hello
revision: 1
steps:
  - {id: greet, type: tool, tool: echo, args: {text: Hello}}
  - {id: leave, type: tool, tool: echo, args: {text: Bye}}
plan: [greet, leave]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Definition().Ref())
	plan, _ := json.Marshal(src.Definition().Plan)
	fmt.Println(string(plan))
	// Output:
	// hello@1
	// {"type":"sequence","nodes":[{"type":"step","step":"greet"},{"type":"step","step":"leave"}]}
}

func ExampleCompile() {
	src, err := workflow.Load("report.yaml", []byte(`
workflow_schema: 1
id: report
revision: 1
steps:
  - {id: files, type: tool, tool: list_dir}
  - {id: report, type: tool, tool: echo, args: {text: {from: step, step: flies}}}
`))
	if src == nil {
		fmt.Println(err)
		return
	}
	_, err = workflow.Compile(src, workflow.DirCatalog("workflows"), nil)
	var errs workflow.Errors
	if errors.As(err, &errs) {
		_ = errs.Render(os.Stdout, false)
	}
	// Output:
	// report.yaml:7:74: unknown_step: there is no step or node "flies"
	//    7 |   - {id: report, type: tool, tool: echo, args: {text: {from: step, step: flies}}}
	//      |                                                                          ^~~~~
	//      = expected the id of a step or node
	//      = did you mean "files"?
}

func ExampleParseBundle() {
	src, err := workflow.Load("hello.yaml", []byte("{workflow_schema: 1, id: hello, revision: 1, steps: [{id: a, type: tool, tool: echo}]}"))
	if err != nil {
		fmt.Println(err)
		return
	}
	program, err := workflow.Compile(src, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	pinned, _ := program.Bundle.Canonical() // what a run keeps

	bundle, err := workflow.ParseBundle(pinned)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := workflow.CompileBundle(bundle, nil)
	fmt.Println(err, again.Hash == program.Hash)
	// Output: <nil> true
}

func ExampleEffective() {
	steps, fewer := int64(100), int64(20)
	limits, err := workflow.Effective(&workflow.Budgets{MaxSteps: &steps}, nil, &workflow.Budgets{MaxSteps: &fewer})
	fmt.Println(limits.MaxSteps, err)
	_, err = workflow.Effective(&workflow.Budgets{MaxSteps: &fewer}, nil, &workflow.Budgets{MaxSteps: &steps})
	fmt.Println(err)
	// Output:
	// 20 <nil>
	// the caller asks for max_steps 100, and the definition allows 20: a caller may only tighten a budget
}
