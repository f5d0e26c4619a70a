package culm_test

import (
	"context"
	"fmt"
	"log"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/tool"
)

// A preview says what a start would do, and what would refuse it.
func ExampleEngine_Preview() {
	ctx := context.Background()
	eng, err := local.Open(ctx, "memory:", culm.Config{Tools: []tool.Tool{greet(), charge()}})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close(ctx)
	request := culm.Start{Workflow: []byte(order)}
	preview, err := eng.Preview(ctx, request)
	if err != nil {
		log.Fatal(err) // the definition or the arguments are invalid
	}
	for _, step := range preview.Steps {
		fmt.Println(step.ID, step.Tool, step.Effect, step.Refusal == nil)
	}
	if preview.Refusal != nil {
		fmt.Println(preview.Refusal.Code, preview.Refusal.NeedsTrust, preview.Refusal.NeedsAllow)
	}
	// Output:
	// pay charge write false
	// thank greet read true
	// policy_denied true [write]
}

const visit = `
workflow_schema: 1
id: visit
revision: 1
steps:
  - {id: knock, type: tool, tool: greet, args: {name: Ada}}
  - {id: enter, type: tool, tool: open, args: {name: Ada}}
`

// A run that failed is run again from the step that failed. What finished before it
// is taken over, and not called again.
func ExampleEngine_Restart() {
	ctx := context.Background()
	closed := true
	open := tool.MustFunc("open", "Opens a door.", tool.Read,
		func(_ context.Context, _ tool.Call, who person) (string, error) {
			if closed {
				return "", tool.Failed("", false, "the door is closed")
			}
			return "come in, " + who.Name, nil
		})
	eng, err := local.Open(ctx, "memory:", culm.Config{Tools: []tool.Tool{greet(), open}})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close(ctx)
	v, err := eng.Run(ctx, culm.Start{Workflow: []byte(visit)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Status, v.Failure.Message)

	closed = false
	again, err := eng.Restart(ctx, v.RunID, culm.RestartOptions{From: "enter"})
	if err != nil {
		log.Fatal(err)
	}
	if again, err = eng.Wait(ctx, again.RunID); err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Status, string(again.Output))
	fmt.Println(again.Steps["knock"].Attempts, again.Steps["knock"].AdoptedFrom == v.RunID)
	// Output:
	// failed the door is closed
	// succeeded "come in, Ada"
	// 0 true
}
