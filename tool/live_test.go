package tool_test

import (
	"io"
	"strings"
	"testing"

	"github.com/culm-dev/culm/tool"
)

func TestOutputIsNeverNil(t *testing.T) {
	t.Parallel()
	var heard strings.Builder
	listening := tool.Call{Live: func(s tool.Stream) io.Writer {
		if s == tool.Stdout {
			return &heard
		}
		return nil
	}}
	for _, c := range []tool.Call{{}, listening} {
		for _, s := range []tool.Stream{tool.Stdout, tool.Stderr, "nonsense"} {
			if n, err := io.WriteString(c.Output(s), "text"); n != 4 || err != nil {
				t.Errorf("%s: wrote %d, %v", s, n, err)
			}
		}
	}
	if heard.String() != "text" {
		t.Errorf("heard %q", heard.String())
	}
}
