package culm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/local"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store/memory"
	"github.com/culm-dev/culm/tool"
)

const hello = `
workflow_schema: 1
id: hello
revision: 1
steps:
  - {id: greeting, type: tool, tool: greet, args: {name: {from: args, pointer: /name}}}
`

type person struct {
	Name string `json:"name"`
}

// A program registers a tool and runs a workflow that calls it.
func Example() {
	ctx := context.Background()
	greet := tool.MustFunc("greet", "Greets somebody.", tool.Read,
		func(_ context.Context, _ tool.Call, who person) (string, error) {
			return "Hello, " + who.Name + "!", nil
		})
	eng, err := local.Open(ctx, "memory:", culm.Config{Tools: []tool.Tool{greet}})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close(ctx)
	result, err := eng.Run(ctx, culm.Start{Workflow: []byte(hello), Args: []byte(`{"name": "Ada"}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Status, string(result.Output))
	// Output: succeeded "Hello, Ada!"
}

const order = `
workflow_schema: 1
id: order
revision: 1
steps:
  - {id: pay, type: tool, tool: charge, args: {name: Ada}}
  - {id: thank, type: tool, tool: greet, args: {name: Ada}}
`

// A write whose outcome is unknown is in doubt. Nothing repeats it, and nothing
// goes on, until somebody said what became of it.
func ExampleEngine_Resolve() {
	ctx := context.Background()
	eng, err := local.Open(ctx, "memory:", culm.Config{
		Tools:     []tool.Tool{charge(), greet()},
		Authority: run.Authority{Trusted: true, Allow: []string{tool.CapWrite}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close(ctx)
	v, err := eng.Run(ctx, culm.Start{Workflow: []byte(order)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Status, v.Suspension.Kind, v.Waits[0].Step)

	_, err = eng.Continue(ctx, v.RunID, culm.ContinueOptions{})
	var refused *culm.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Details["steps"])
	}

	// Somebody looked: the money was taken.
	_, err = eng.Resolve(ctx, v.RunID, "pay", culm.Resolution{
		Verdict: run.VerdictSucceeded, Output: json.RawMessage(`"receipt 9"`),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err = eng.Continue(ctx, v.RunID, culm.ContinueOptions{}); err != nil {
		log.Fatal(err)
	}
	v, err = eng.Wait(ctx, v.RunID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Status, string(v.Output), v.Steps["pay"].Attempts)
	// Output:
	// suspended in_doubt pay
	// step_in_doubt [pay]
	// succeeded "Hello, Ada!" 1
}

// The same request under the same key is one run, however often a client that
// lost the answer repeats it.
func ExampleEngine_Start() {
	ctx := context.Background()
	eng, err := local.Open(ctx, "memory:", culm.Config{Tools: []tool.Tool{greet()}})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close(ctx)
	request := culm.Start{Workflow: []byte(hello), Args: []byte(`{"name": "Ada"}`), Key: "order-4711"}
	first, err := eng.Start(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	again, err := eng.Start(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.RunID == again.RunID)

	request.Args = []byte(`{"name": "Bo"}`)
	_, err = eng.Start(ctx, request)
	var refused *culm.Error
	fmt.Println(errors.As(err, &refused) && refused.Code == culm.CodeKeyConflict)
	// Output:
	// true
	// true
}

// A subscription gives every event once and in order: those of before, then
// those to come, until the run has ended.
func ExampleEngine_Subscribe() {
	ctx := context.Background()
	eng, err := local.Open(ctx, "memory:", culm.Config{Tools: []tool.Tool{greet()}})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close(ctx)
	v, err := eng.Start(ctx, culm.Start{Workflow: []byte(hello), Args: []byte(`{"name": "Ada"}`)})
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range eng.Subscribe(ctx, v.RunID, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Sequence, ev.Type)
	}
	// Output:
	// 1 run_queued
	// 2 run_started
	// 3 step_started
	// 4 step_completed
	// 5 run_succeeded
}

// A program that starts again takes up what its predecessor left behind. What
// cannot go on is left alone, with the reason.
func ExampleEngine_Recover() {
	ctx := context.Background()
	disk := memory.New()
	killedInTheMiddle(disk)

	eng, err := culm.Open(ctx, disk.Open(), culm.Config{Tools: []tool.Tool{greet()}})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close(ctx)
	recovered, err := eng.Recover(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, left := range recovered {
		if left.Damaged != "" {
			log.Printf("run %s is damaged: %s", left.RunID, left.Damaged)
			continue
		}
		_, err := eng.Continue(ctx, left.RunID, culm.ContinueOptions{
			Session: culm.AnySession, Rerun: []tool.Effect{tool.Read},
		})
		if err != nil {
			log.Printf("run %s waits: %v", left.RunID, err)
			continue
		}
		v, err := eng.Wait(ctx, left.RunID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(v.Status, string(v.Output))
	}
	// Output: succeeded "Hello, Ada!"
}

// killedInTheMiddle leaves a run on disk whose process was killed in its step.
func killedInTheMiddle(disk *memory.Disk) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	hang := tool.MustFunc("greet", "Greets somebody.", tool.Read,
		func(ctx context.Context, _ tool.Call, _ person) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
	store := disk.Open()
	eng, err := culm.Open(context.Background(), store, culm.Config{Tools: []tool.Tool{hang}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = eng.Start(context.Background(), culm.Start{Workflow: []byte(hello), Args: []byte(`{"name": "Ada"}`)})
	if err != nil {
		log.Fatal(err)
	}
	_ = store.Close()  // whatever the engine does from now on, it is not durable
	_ = eng.Close(ctx) // and its call is given up
}

// greet is a tool that only reads: repeating it is harmless.
func greet() tool.Tool {
	return tool.MustFunc("greet", "Greets somebody.", tool.Read,
		func(_ context.Context, _ tool.Call, who person) (string, error) {
			return "Hello, " + who.Name + "!", nil
		})
}

// charge is a tool that writes, and whose answer is lost.
func charge() tool.Tool {
	return tool.MustFunc("charge", "Charges somebody.", tool.Write,
		func(_ context.Context, call tool.Call, who person) (string, error) {
			if who.Name == "" {
				return "", tool.Failed("invalid_input", false, "nobody to charge") // nothing happened
			}
			return "", errors.New("connection reset") // call.IdempotencyKey was sent; did it arrive?
		})
}
