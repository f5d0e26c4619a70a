package reference

import (
	"iter"
	"slices"
)

// The interpreter is straight recursion; branches that stand side by side are
// coroutines of it, of which one runs at a time. A coroutine that needs a turn or a
// slot asks for it, and pauses until the scheduler, or a cancellation, answers.

// task is one coroutine.
type task struct {
	resume func() (struct{}, bool)
	yield  func(struct{}) bool
}

// request is what a paused coroutine asks for.
type request struct {
	task    *task
	want    want
	scope   *cancellation
	granted bool
}

type want int

const (
	wantTurn   want = iota // decide, enter a workflow step or sleep, reserve a round
	wantFinish             // record the end of a sleep
	wantEnd                // record the end of a workflow step: granted even in a cancelled scope
	wantCall               // call a tool
	wantReturn             // the call returns
)

// cancellation is a scope that can be cancelled: a parallel's.
type cancellation struct {
	parent *cancellation
	called bool
}

func (c *cancellation) dying() bool {
	for ; c != nil; c = c.parent {
		if c.called {
			return true
		}
	}
	return false
}

func (c *cancellation) within(outer *cancellation) bool {
	for ; c != nil; c = c.parent {
		if c == outer {
			return true
		}
	}
	return false
}

type scheduler struct {
	pick    func(n int) int
	waiting []*request // first in, first out
	ready   []*task    // to go on before anything else
	settle  bool       // something ended: ends come before other turns
}

// spawn begins a coroutine, and comes back when it pauses or has ended.
func (s *scheduler) spawn(body func(t *task)) {
	t := &task{}
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		body(t)
	})
	t.resume = next
	t.resume()
}

// pause stops the coroutine until someone resumes it.
func (t *task) pause() { t.yield(struct{}{}) }

// ask waits for what it wants. It reports false if the scope was cancelled instead.
func (s *scheduler) ask(t *task, w want, scope *cancellation) bool {
	if scope.dying() && w != wantEnd {
		return false
	}
	r := &request{task: t, want: w, scope: scope}
	s.waiting = append(s.waiting, r)
	t.pause()
	return r.granted
}

// cancel cancels a scope: what waits in it is told so.
func (s *scheduler) cancel(scope *cancellation) {
	scope.called = true
	s.waiting = slices.DeleteFunc(s.waiting, func(r *request) bool {
		if r.want == wantEnd || !r.scope.within(scope) {
			return false
		}
		s.ready = append(s.ready, r.task)
		return true
	})
}

// wake lets a paused coroutine go on soon.
func (s *scheduler) wake(t *task) {
	if !slices.Contains(s.ready, t) {
		s.ready = append(s.ready, t)
	}
}

// loop grants requests until nobody asks for anything.
func (s *scheduler) loop() {
	for {
		for len(s.ready) > 0 {
			t := s.ready[0]
			s.ready = s.ready[1:]
			t.resume()
		}
		if len(s.waiting) == 0 {
			return
		}
		i := s.choose()
		r := s.waiting[i]
		s.waiting = slices.Delete(s.waiting, i, i+1)
		r.granted = true
		r.task.resume()
	}
}

// choose picks the request that is granted next.
func (s *scheduler) choose() int {
	if s.pick != nil {
		return s.pick(len(s.waiting))
	}
	ends := func(r *request) bool { return r.want == wantEnd || r.want == wantFinish }
	if s.settle {
		if i := slices.IndexFunc(s.waiting, ends); i >= 0 {
			return i
		}
		s.settle = false
	}
	i := slices.IndexFunc(s.waiting, func(r *request) bool { return r.want != wantCall })
	if i < 0 {
		i = 0
	}
	s.settle = ends(s.waiting[i])
	return i
}

// run interprets body to its end.
func (x *interp) run(body func(t *task) outcome) (out outcome) {
	x.sched.pick = x.opts.Pick
	x.sched.spawn(func(t *task) { out = body(t) })
	x.sched.loop()
	return out
}
