package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/culm-dev/culm/internal/cli/plain"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/run"
)

// writeOneOutput prints the output of a run, or of one of its steps, and nothing
// else: a string byte for byte, anything else as JSON.
func (in *invocation) writeOneOutput(v *run.View, step string) error {
	output, whose, status := v.Output, "run "+v.RunID, string(v.Status)
	if step != "" {
		id, err := matchStep(v, step)
		if err != nil {
			return err
		}
		output, whose, status = v.Steps[id].Output, "step "+id, string(v.Steps[id].Status)
	}
	if output == nil {
		f := &Failure{Exit: ExitRefused, Code: codeNotFound, Message: fmt.Sprintf("%s is %s, and has no output", whose, status)}
		f.help("To see how the run stands: %s", in.command("show", short(v.RunID)))
		return f.help("To see what its tools printed: %s", in.command("logs", short(v.RunID)))
	}
	var text string
	switch {
	case in.global.json():
		return writeIndented(in.Stdout, output)
	case term.IsTerminal(in.Stdout, in.Env):
		return writeOutput(in.Stdout, output)
	case output[0] == '"' && json.Unmarshal(output, &text) == nil:
		_, err := io.WriteString(in.Stdout, text)
		return err
	}
	return writeIndented(in.Stdout, output)
}

// pageOutput shows the output of a run on its page, of a long one both ends.
func (in *invocation) pageOutput(b *strings.Builder, v *run.View) {
	var text strings.Builder
	if writeOutput(&text, v.Output) != nil {
		return
	}
	head, tail, between := plain.Excerpt(text.String())
	for _, line := range head {
		b.WriteString("  " + term.Clean(line) + "\n")
	}
	if between > 0 {
		all := in.command("show", short(v.RunID), "--output")
		fmt.Fprintf(b, "  … %s in between; all of it: %s\n", plain.Bytes(between), all)
	}
	for _, line := range tail {
		b.WriteString("  " + term.Clean(line) + "\n")
	}
}
