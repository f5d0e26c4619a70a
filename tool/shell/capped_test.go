package shell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/culm-dev/culm/tool/internal/workspace"
)

// Whatever is written in whatever pieces, the kept text is a head and a tail of
// it, and the marker says exactly how much lies between.
func TestCappedKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	marker := regexp.MustCompile(`(?s)\A(.*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n(.*)\z`)
	rapid.Check(t, func(t *rapid.T) {
		c := newCapped(rapid.IntRange(1, 64).Draw(t, "limit"))
		pieces := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("aä€😀")))).Draw(t, "pieces")
		for _, p := range pieces {
			if n, err := c.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, len(p), err)
			}
		}
		all := strings.Join(pieces, "")
		if !c.truncated() {
			if got := string(c.value().(workspace.Bytes)); got != all {
				t.Fatalf("got %q, want %q", got, all)
			}
			return
		}
		m := marker.FindStringSubmatch(fmt.Sprint(c.value()))
		if m == nil {
			t.Fatalf("no marker in %q", c.value())
		}
		omitted, err := strconv.Atoi(m[2])
		if err != nil || len(m[1])+omitted+len(m[3]) != len(all) || !strings.HasPrefix(all, m[1]) || !strings.HasSuffix(all, m[3]) {
			t.Fatalf("%q of %q", m, all)
		}
		if !utf8.ValidString(m[1]) || !utf8.ValidString(m[3]) {
			t.Fatalf("a character was cut: %q", m)
		}
	})
}
