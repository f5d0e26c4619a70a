package culmtest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// printer is a test that prints what it is told.
type printer struct{ testing.TB }

func (*printer) Helper()                  {}
func (*printer) Cleanup(func())           {}
func (*printer) Context() context.Context { return context.Background() }
func (*printer) Errorf(format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		fmt.Println(strings.TrimRight(line, " \n"))
	}
}
func (p *printer) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// recorder is a test that is to fail, and remembers how.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (*recorder) Helper()                     {}
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any)         { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.Error(fmt.Sprintf(f, a...)) }
func (r *recorder) Fatalf(f string, a ...any) {
	r.Errorf(f, a...)
	runtime.Goexit()
}

// failing runs a test, and gives what it failed with.
func failing(t *testing.T, test func(t testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(r)
	}()
	<-done
	for _, f := range r.cleanups {
		f()
	}
	return strings.Join(r.failures, "\n")
}
