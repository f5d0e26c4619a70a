package docs_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/cli"
)

const tutorial = "docs/tutorial.md"

// The commands of the tutorial, typed one after the other into a shell, do what
// it says, apart from times and ids.
func TestTutorial(t *testing.T) {
	t.Parallel()
	s := startShell(t)
	typed := 0
	for _, b := range tutorialBlocks(t) {
		if b.file != "" {
			s.save(b.file, b.text)
			continue
		}
		for _, c := range transcript(b.block) {
			typed++
			s.matches(c, s.run(c))
		}
	}
	if typed < 10 {
		t.Fatalf("only %d commands were found", typed)
	}
}

// saved is a block of the tutorial, and the file that it is to be saved as.
type saved struct {
	block
	file string
}

// tutorialBlocks are the files and the transcripts, in their order. Those in sh
// are about the clone, which this is.
func tutorialBlocks(t *testing.T) []saved {
	t.Helper()
	text := read(t, tutorial)
	lines := strings.Split(text, "\n")
	saveAs := regexp.MustCompile("^Save this as `([^`]+)`:$")
	var list []saved
	for _, b := range fenced(tutorial, text) {
		switch b.lang {
		case "console":
			list = append(list, saved{block: b})
		case "yaml":
			m := saveAs.FindStringSubmatch(lines[b.line-4])
			if m == nil {
				t.Fatalf("%s: it is not said what to save this as", b)
			}
			list = append(list, saved{b, m[1]})
		}
	}
	return list
}

// command is what is typed, and what is to be seen then.
type command struct {
	at   block
	text string
	want []string
}

func transcript(b block) []command {
	var list []command
	for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
		if text, typed := strings.CutPrefix(line, "$ "); typed {
			list = append(list, command{at: block{page: b.page, line: b.line + i}, text: text})
		} else if len(list) > 0 {
			last := &list[len(list)-1]
			last.want = append(last.want, line)
		}
	}
	return list
}

// bash is a shell that commands are typed into, in a folder of its own.
type bash struct {
	t      *testing.T
	dir    string
	in     io.Writer
	out    *bufio.Reader
	shared map[string]string // ids of the page, and what they are here
}

func startShell(t *testing.T) *bash {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash: ", err)
	}
	dir := t.TempDir()
	runtime.KeepAlive(cli.Main.Run) // so that a result is cached only as long as culm is the same
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "culm"), "./cmd/culm")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build culm: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc")
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + filepath.Join(dir, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + filepath.Join(dir, "home"), "USER=ada", "TERM=dumb", "TZ=UTC",
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = stdout, stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // its status is that of the last command
		_ = output.Close()
	})
	if err := output.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &bash{t: t, dir: dir, in: stdin, out: bufio.NewReader(output), shared: map[string]string{}}
}

// save writes a file of the tutorial into the folder where its reader is.
func (s *bash) save(name, text string) {
	s.t.Helper()
	where := s.run(command{text: "pwd"})
	if len(where) != 1 {
		s.t.Fatalf("pwd says %q", where)
	}
	if err := os.WriteFile(filepath.Join(where[0], name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run types a command and reads what it says, up to a line that the shell is told
// to say then.
func (s *bash) run(c command) []string {
	s.t.Helper()
	text := c.text
	ids := slices.SortedFunc(maps.Keys(s.shared), func(a, b string) int { return len(b) - len(a) }) // whole ones before their ends
	for _, page := range ids {
		text = strings.ReplaceAll(text, page, s.shared[page])
	}
	const done = "\x01done"
	if _, err := fmt.Fprintf(s.in, "%s\necho '%s'\n", text, done); err != nil {
		s.t.Fatalf("%s: type %q: %v", c.at, text, err)
	}
	var lines []string
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %q said %q, and then: %v", c.at, text, lines, err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == done:
			return lines
		case strings.Contains(line, "Killed"): // by the shell, when it likes
		default:
			lines = append(lines, line)
		}
	}
}

// varying is what differs from run to run.
var varying = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`, // a run's id
	`\b[0-9a-f]{32}\b`,                            // an owner's
	`\b[0-9a-f]{12}\b`,                            // the end of a run's
	`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`, `\d\d:\d\d:\d\d\.\d{3}`,
	`\b\d+(?:\.\d+)?m?s\b`, // a duration
	`  +`,                  // as wide as a column needs
}, "|"))

// matches compares what was said with the page, on which a line of three dots
// stands for any lines.
func (s *bash) matches(c command, got []string) {
	s.t.Helper()
	at := 0
	for i, want := range c.want {
		if want == "..." {
			at = len(got) - (len(c.want) - i - 1)
			continue
		}
		if at < 0 || at >= len(got) || !s.line(want, got[at]) {
			s.t.Fatalf("%s: %s\nline %d should be\n  %s\nand all that was said is\n  %s", c.at, c.text, i+1, want, strings.Join(got, "\n  "))
		}
		at++
	}
	if at != len(got) {
		s.t.Fatalf("%s: %s\nthe page lacks the lines\n  %s", c.at, c.text, strings.Join(got[at:], "\n  "))
	}
}

// line compares two lines, and learns which id here is which on the page.
func (s *bash) line(want, got string) bool {
	seen := varying.FindAllString(want, -1)
	var pattern strings.Builder
	end := 0
	for _, at := range varying.FindAllStringIndex(want, -1) {
		pattern.WriteString(regexp.QuoteMeta(want[end:at[0]]) + `(` + shapeOf(want[at[0]:at[1]]) + `)`)
		end = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(want[end:]))
	m := regexp.MustCompile(`^` + pattern.String() + `$`).FindStringSubmatch(got)
	if m == nil {
		return false
	}
	for i, page := range seen {
		here := m[i+1]
		if !regexp.MustCompile(`^[0-9a-f-]{12,}$`).MatchString(page) {
			continue
		}
		if known, ok := s.shared[page]; ok && known != here {
			return false
		}
		s.shared[page] = here
		if cut := strings.LastIndexByte(page, '-'); cut > 0 {
			s.shared[page[cut+1:]] = here[strings.LastIndexByte(here, '-')+1:]
		}
	}
	return true
}

// shapeOf is a pattern for what may stand in the place of something that varies.
func shapeOf(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return ` +`
	case strings.HasSuffix(text, "s") && !strings.ContainsRune(text, '-'):
		return `[0-9.]+m?s`
	case regexp.MustCompile(`^[0-9a-f-]{12,}$`).MatchString(text) && !strings.ContainsRune(text, ' '):
		return `[0-9a-f-]+`
	}
	return `[0-9:. -]+`
}
