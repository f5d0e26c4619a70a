package randdef

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/culm-dev/culm/workflow"
	"pgregory.net/rapid"
)

// generator draws one definition.
type generator struct {
	t      *rapid.T
	cfg    Config
	def    *workflow.Definition
	others []*workflow.Definition // that workflow steps may run
	fuel   int                    // step instances that may still be added, roughly
	depth  int
	names  map[string]int // how many of each kind there are
}

// place is where in the plan something is drawn.
type place struct {
	depth  int
	weight int  // how often one pass through the plan gets here
	calm   bool // nothing may fail here
	side   bool // other branches or items go on beside it
	// seen is what may be referred to.
	seen []source
	// items are the enclosing maps' item names.
	items []string
	// rounds are the steps of the nearest repeat's body so far; nil outside.
	rounds []string
	inside bool // of a repeat
	// maybe may be referred to with a default: what a cleanup is for.
	maybe   []source
	cleanup bool // there is an outcome to read
}

// source is something that references may read.
type source struct {
	name string
	kind sourceKind
}

type sourceKind int

const (
	anything sourceKind = iota // of unknown form
	worked                     // an output of the tool
	listed                     // an array
)

// drawn is a drawn node, and what can be referred to once it has ended.
type drawn struct {
	node *workflow.Node
	seen []source
	// skips: a failure in it may skip what follows, so that what stands after it in
	// its sequence may never exist.
	skips bool
}

func newGenerator(t *rapid.T, cfg Config, id string, others []*workflow.Definition) *generator {
	return &generator{
		t: t, cfg: cfg, others: others, names: make(map[string]int),
		def: &workflow.Definition{Schema: workflow.Schema, ID: id, Revision: 1, InputSchema: json.RawMessage(inputSchema)},
	}
}

func (g *generator) definition() *workflow.Definition {
	plan := g.node(place{depth: g.depth, weight: 1, calm: false})
	g.def.Plan = plan.node
	if g.chance("output template", 4) {
		g.def.Output = g.object(place{seen: plan.seen}, "out")
	}
	return g.def
}

// chance is true once in n times, and shrinks to false.
func (g *generator) chance(label string, n int) bool {
	return rapid.IntRange(0, n-1).Draw(g.t, label) == n-1
}

func (g *generator) pick(label string, n int) int { return rapid.IntRange(0, n-1).Draw(g.t, label) }

// name makes a new name, such as s3.
func (g *generator) name(kind string) string {
	g.names[kind]++
	return fmt.Sprintf("%s%d", kind, g.names[kind])
}

// node draws any node.
func (g *generator) node(p place) drawn {
	if p.depth <= 0 || g.fuel < 2*p.weight {
		return g.step(p)
	}
	p.depth--
	var d drawn
	switch g.pick("node", 11) {
	case 0, 1:
		return g.step(p)
	case 2, 3:
		d = g.sequence(p)
	case 4:
		d = g.parallel(p)
	case 5:
		d = g.choice(p)
	case 6:
		d = g.mapped(p)
	case 7:
		d = g.retry(p)
	case 8, 9:
		d = g.cleans(p)
	default:
		d = g.repeat(p)
	}
	if g.chance("node id", 3) {
		d.node.ID = g.name("n")
		kind := anything
		if d.node.Type == workflow.ParallelNode || d.node.Type == workflow.MapNode {
			kind = listed
		}
		d.seen = append(slices.Clone(d.seen), source{d.node.ID, kind})
	}
	return d
}

func (g *generator) sequence(p place) drawn {
	d := drawn{node: &workflow.Node{Type: workflow.SequenceNode}}
	for range rapid.IntRange(1, 3).Draw(g.t, "nodes") {
		child := g.node(p)
		d.node.Nodes = append(d.node.Nodes, child.node)
		p.seen = append(slices.Clone(p.seen), child.seen...)
		p.rounds = g.inRound(p, child)
		if !d.skips {
			d.seen = append(d.seen, child.seen...)
		}
		d.skips = d.skips || child.skips
	}
	d.skips = false // what is skipped is skipped up to here
	return d
}

// inRound adds a child to the steps of the repeat's body around it.
func (g *generator) inRound(p place, child drawn) []string {
	if !p.inside {
		return nil
	}
	rounds := slices.Clone(p.rounds)
	for _, s := range child.seen {
		if s.kind == worked {
			rounds = append(rounds, s.name)
		}
	}
	return rounds
}

func (g *generator) parallel(p place) drawn {
	d := drawn{node: &workflow.Node{Type: workflow.ParallelNode}}
	p.side = true
	p.calm = p.calm || g.cfg.Calm
	for range rapid.IntRange(1, 3).Draw(g.t, "branches") {
		child := g.node(p)
		d.node.Nodes = append(d.node.Nodes, child.node)
		d.seen = append(d.seen, child.seen...)
	}
	return d
}

func (g *generator) choice(p place) drawn {
	n := &workflow.Node{Type: workflow.ChoiceNode, Condition: g.boolean(p)}
	then := g.node(p)
	n.Then = then.node
	d := drawn{node: n, skips: then.skips}
	if g.chance("else", 2) {
		other := g.node(p)
		n.Else = other.node
		d.skips = d.skips || other.skips
	}
	return d
}

func (g *generator) mapped(p place) drawn {
	n := &workflow.Node{Type: workflow.MapNode, Source: g.list(p), Item: g.name("i")}
	p.weight *= 3
	p.side = true
	p.items = append(slices.Clone(p.items), n.Item)
	n.Body = g.node(p).node
	if g.chance("tolerates", 3) {
		tolerate := g.pick("tolerate", 3)
		n.Tolerate = &tolerate
	}
	if g.chance("width", 2) {
		width := 1 + g.pick("concurrency", 2)
		n.Concurrency = &width
	}
	return drawn{node: n}
}

// cleans draws a finally or on_failure.
func (g *generator) cleans(p place) drawn {
	n := &workflow.Node{Type: workflow.FinallyNode}
	if g.chance("on failure", 2) {
		n.Type = workflow.OnFailureNode
	}
	inner := g.node(p)
	n.Node = inner.node
	d := drawn{node: n, seen: inner.seen, skips: inner.skips}
	p.cleanup, p.maybe = true, append(slices.Clone(p.maybe), inner.seen...)
	p.rounds = nil // references to the round before need no more variety
	cleanup := g.node(p)
	n.Cleanup = cleanup.node
	if n.Type == workflow.FinallyNode {
		d.seen = append(slices.Clone(d.seen), cleanup.seen...)
	}
	return d
}

func (g *generator) retry(p place) drawn {
	n := &workflow.Node{Type: workflow.RetryNode, MaxAttempts: 1 + g.pick("attempts", 3)}
	if !g.cfg.NoSleep && g.chance("delay", 4) {
		delay, backoff := int64(1), 2.0
		n.DelayMS, n.Backoff = &delay, &backoff
	}
	if p.calm {
		return g.calmRetry(p, n)
	}
	inner := g.node(p)
	n.Node = inner.node
	return drawn{node: n, seen: inner.seen, skips: inner.skips}
}

// calmRetry draws a step that fails, but not for good.
func (g *generator) calmRetry(p place, n *workflow.Node) drawn {
	d := g.tool(p, n.MaxAttempts-1, true, true)
	n.Node = d.node
	d.node = n
	return d
}

func (g *generator) repeat(p place) drawn {
	n := &workflow.Node{Type: workflow.RepeatNode, Max: 1 + g.pick("max", 3)}
	p.weight *= n.Max
	p.inside, p.rounds = true, nil
	body := g.node(p)
	n.Body = body.node
	p.seen = append(slices.Clone(p.seen), body.seen...)
	if p.calm {
		n.Until = literal(true)
	} else {
		n.Until = g.boolean(p)
	}
	return drawn{node: n}
}
