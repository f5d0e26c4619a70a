// Package culm runs durable workflows: steps that call tools, sleep, and nest
// other workflows, with every intent recorded before its effect and every
// outcome before its use. After a crash, a kill or a redeploy, a run is
// recovered, continued from its journal without repeating a finished step, and a
// step whose outcome is unknown waits for someone's decision.
//
// A program opens an [Engine] over a store, gives it tools, and runs workflows:
//
//	eng, err := local.Open(ctx, "sqlite:./data/culm.db", culm.Config{Tools: []tool.Tool{greet}})
//	...
//	run, err := eng.Run(ctx, culm.Start{Workflow: def, Args: args})
//
// Package local wires the stores of one machine; Open takes any store.Store.
// Definitions are described in docs/definition.md, what is promised in
// docs/guarantees.md.
package culm
