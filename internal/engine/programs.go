package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/culm-dev/culm/workflow"
)

// maxPrograms bounds how many compiled bundles an engine keeps: each look at a
// run needs its program, and most runs are of few bundles.
const maxPrograms = 32

// programs keeps the bundles compiled lately. A program never changes.
type programs struct {
	mu    sync.Mutex
	byKey map[string]*workflow.Program
	order []string // oldest first
}

func (p *programs) get(key string) *workflow.Program {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byKey[key]
}

func (p *programs) put(key string, prog *workflow.Program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey == nil {
		p.byKey = make(map[string]*workflow.Program)
	}
	if p.byKey[key] == nil {
		p.order = append(p.order, key)
	}
	p.byKey[key] = prog
	if len(p.order) > maxPrograms {
		delete(p.byKey, p.order[0])
		p.order = slices.Delete(p.order, 0, 1)
	}
}

// programKey tells what a compiled program depends on: the bundle, and which of
// the run's tools still are what it was started with.
func (l *loaded) programKey() string {
	key := l.st.BundleHash
	for _, name := range slices.Sorted(maps.Keys(l.st.Tools)) {
		if _, _, same := l.pinnedSchemas(name); same {
			key += " " + name
		}
	}
	return key
}
