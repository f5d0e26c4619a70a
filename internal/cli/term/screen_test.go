package term_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/internal/cli/term"
)

// emulator is a terminal that knows what a Screen writes, and fails at the rest.
type emulator struct {
	t       *testing.T
	columns int
	rows    []string // what stands there; the last one holds the cursor's line if row is at the end
	row     int
	col     int
}

func (e *emulator) Write(b []byte) (int, error) {
	s := string(b)
	for s != "" {
		switch {
		case strings.HasPrefix(s, "\x1b["):
			end := strings.IndexFunc(s[2:], func(c rune) bool { return c >= '@' && c <= '~' }) + 3
			e.control(s[2:end-1], s[end-1])
			s = s[end:]
		case s[0] == '\r':
			e.col, s = 0, s[1:]
		case s[0] == '\n':
			e.row, s = e.row+1, s[1:]
		default:
			r := []rune(s)[0]
			e.put(r)
			s = s[len(string(r)):]
		}
	}
	return len(b), nil
}

func (e *emulator) control(args string, final byte) {
	switch final {
	case 'A':
		n, err := strconv.Atoi(args)
		if err != nil && args != "" {
			e.t.Fatal(err)
		}
		e.row = max(e.row-max(n, 1), 0)
	case 'J':
		e.rows = e.rows[:min(e.row, len(e.rows))]
	case 'm':
	case 'h', 'l':
		if args != "?2026" {
			e.t.Errorf("the screen changed the terminal's mode %s", args)
		}
	default:
		e.t.Errorf("unexpected control sequence %q", args+string(final))
	}
}

func (e *emulator) put(r rune) {
	if e.col == e.columns {
		e.row, e.col = e.row+1, 0
	}
	for len(e.rows) <= e.row {
		e.rows = append(e.rows, "")
	}
	line := []rune(e.rows[e.row])
	for len(line) <= e.col {
		line = append(line, ' ')
	}
	line[e.col] = r
	e.rows[e.row] = string(line)
	e.col++
}

// narrow makes the terminal narrower, as terminals do: long lines wrap.
func (e *emulator) narrow(columns int) {
	var rows []string
	for _, row := range e.rows {
		r := []rune(row)
		for len(r) > columns {
			rows, r = append(rows, string(r[:columns])), r[columns:]
		}
		rows = append(rows, string(r))
	}
	e.rows, e.columns, e.row = rows, columns, len(rows)
}

func newScreen(t *testing.T, columns, lines int) (*term.Screen, *emulator) {
	e := &emulator{t: t, columns: columns}
	return term.NewScreen(e, func() (int, int) { return e.columns, lines }), e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *emulator) expect(want ...string) {
	e.t.Helper()
	if diff := cmp.Diff(want, e.rows); diff != "" {
		e.t.Errorf("on the terminal (-want +got):\n%s", diff)
	}
	if e.col != 0 || e.row != len(e.rows) {
		e.t.Errorf("the cursor is at line %d, column %d, not below the %d lines", e.row, e.col, len(e.rows))
	}
}

func TestBlockIsDrawnAgainInPlace(t *testing.T) {
	t.Parallel()
	s, e := newScreen(t, 20, 10)
	must(t, s.Draw([]string{"one", "two", "three"}))
	must(t, s.Draw([]string{"ONE", "TWO"}))
	e.expect("ONE", "TWO")
	must(t, s.Above("a note"))
	e.expect("a note")
	must(t, s.Draw([]string{"one"}))
	e.expect("a note", "one")
	must(t, s.Leave([]string{"end"}))
	must(t, s.Draw([]string{"next"}))
	e.expect("a note", "end", "next")
}

func TestBlockNeverWrapsNorScrolls(t *testing.T) {
	t.Parallel()
	s, e := newScreen(t, 10, 4)
	must(t, s.Draw([]string{"0123456789", "\x1b[31mred red red red\x1b[m", "世界世界世界", "four", "five"}))
	if len(e.rows) != 3 {
		t.Errorf("%d lines on a terminal of 4, want 3 and the cursor's", len(e.rows))
	}
	for _, row := range e.rows {
		if len([]rune(row)) > 9 {
			t.Errorf("a line reaches the last column: %q", row)
		}
	}
}

func TestTerminalThatBecomesNarrower(t *testing.T) {
	t.Parallel()
	s, e := newScreen(t, 20, 10)
	must(t, s.Above("before"))
	must(t, s.Draw([]string{"0123456789012345", "short"}))
	e.narrow(9)
	must(t, s.Draw([]string{"new"}))
	e.expect("before", "new")
}

func TestCleanDisarmsTextOfUnknownOrigin(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain äöü 世界":             "plain äöü 世界",
		"two\nlines\tand tab":      "two lines and tab",
		"\x1b[2J\x1b[31mred\x1b[m": "red",
		"\x1b]0;title\x07text":     "text",
		"bell\x07 back\x08":        "bell\ufffd back\ufffd",
		"right\u202eleft":          "right\ufffdleft",
	} {
		if got := term.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestColoursOnlyOnTerminals(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	if term.WantsColour(&strings.Builder{}, none) {
		t.Error("a buffer is no terminal")
	}
	if got := term.NewPalette(false).Bad("x"); got != "x" {
		t.Errorf("colourless text is %q", got)
	}
	if got := term.NewPalette(true).Bad("x"); !strings.HasPrefix(got, "\x1b[") || !strings.Contains(got, "x") {
		t.Errorf("coloured text is %q", got)
	}
}
