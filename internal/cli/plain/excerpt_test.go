package plain_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/cli/plain"
)

func TestExcerptOfManyLines(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	head, tail, between := plain.Excerpt(strings.Join(lines, "\n") + "\n")
	if diff := cmp.Diff(lines[:20], head); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(lines[80:], tail); diff != "" {
		t.Errorf("tail (-want +got):\n%s", diff)
	}
	if want := int64(len(strings.Join(lines[20:80], "\n")) + 1); between != want {
		t.Errorf("%d bytes between, want %d", between, want)
	}
}

func TestExcerptOfOneLongLine(t *testing.T) {
	t.Parallel()
	head, tail, between := plain.Excerpt(strings.Repeat("€", 10_000))
	if len(head) != 1 || len(tail) != 1 || len(head[0]) > 2<<10 || len(tail[0]) > 2<<10+utf8.UTFMax {
		t.Errorf("%d and %d lines of %d and %d bytes", len(head), len(tail), len(head[0]), len(tail[0]))
	}
	if int64(len(head[0])+len(tail[0]))+between != 30_000 {
		t.Errorf("%d bytes between %d and %d", between, len(head[0]), len(tail[0]))
	}
}

// An excerpt is short, begins and ends as the text does, says how much it lacks,
// and parts no character.
func TestExcerptOfAnything(t *testing.T) {
	t.Parallel()
	piece := rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat(rapid.SampledFrom([]string{"a", "€", "a\n", "\n", "word "}).Draw(t, "what"), rapid.IntRange(0, 1500).Draw(t, "times"))
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.TrimRight(strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), ""), "\n")
		head, tail, between := plain.Excerpt(text)
		first, last := strings.Join(head, "\n"), strings.Join(tail, "\n")
		if !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) || !utf8.ValidString(first) || !utf8.ValidString(last) {
			t.Fatalf("%q … %q are not the ends of %q", first, last, text)
		}
		if between == 0 {
			if tail == nil && first != text {
				t.Fatalf("%q is not all of %q", first, text)
			}
			return
		}
		feed := 0
		if strings.HasPrefix(text[len(first):], "\n") {
			feed = 1 // of the last line of the head
		}
		if got := len(first) + feed + int(between) + len(last); got != len(text) {
			t.Fatalf("%d bytes are accounted for, of %d", got, len(text))
		}
		if len(head) > 20 || len(tail) > 20 || len(first) > 2<<10 || len(last) > 2<<10+utf8.UTFMax {
			t.Fatalf("%d and %d lines, %d and %d bytes", len(head), len(tail), len(first), len(last))
		}
	})
}
