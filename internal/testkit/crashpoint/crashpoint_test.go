package crashpoint_test

import (
	"testing"

	"github.com/culm-dev/culm/internal/testkit/crashpoint"
)

func TestEveryPointHasANameAndAnExitStatusOfItsOwn(t *testing.T) {
	t.Parallel()
	names := make(map[string]crashpoint.Point)
	for p := crashpoint.MakeDatabase; p <= crashpoint.AfterRestart; p++ {
		name := p.String()
		if other, taken := names[name]; taken {
			t.Errorf("points %d and %d are both called %q", other, p, name)
		}
		names[name] = p
		// 1 and 2 are what a failed test and a panic give, and from 126 on the shell
		// and signals have their say.
		if p <= 2 || p >= 126 {
			t.Errorf("%s: exit status %d can mean something else", name, p)
		}
	}
	if name := crashpoint.Point(0).String(); name != "point 0" {
		t.Errorf("no point is called %q", name)
	}
}
