package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/workflow"
)

// Failure is an error as it is shown: what is wrong, and how to mend it.
type Failure struct {
	Exit    int
	Code    string
	Message string
	Details map[string]any
	// Help are lines about how to mend it.
	Help []string
	// Long, when not nil, is shown instead of code and message.
	Long func(w io.Writer, colour bool)
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Codes of failures that arise on the command line itself.
const (
	codeUsage             = "usage"
	codeInvalidConfig     = "invalid_config"
	codeInvalidDefinition = "invalid_definition"
	codeInvalidInput      = "invalid_input"
	codeUnsupportedStore  = "unsupported_store"
	codeUnsupportedServer = "unsupported_server"
	codeNotFound          = "not_found"
	codeAmbiguous         = "ambiguous"
	codeStorage           = "storage"
	codeInternal          = "internal"
	codeInterrupted       = "interrupted"
	codeFilesExist        = "files_exist"
	codeUntidy            = "untidy"
	codeNoHousekeeping    = "no_housekeeping"
)

// usage makes a failure of how the command was typed.
func usage(format string, args ...any) *Failure {
	return &Failure{Exit: ExitUsage, Code: codeUsage, Message: fmt.Sprintf(format, args...)}
}

// help adds a line about how to mend it.
func (f *Failure) help(format string, args ...any) *Failure {
	f.Help = append(f.Help, fmt.Sprintf(format, args...))
	return f
}

// failureOf turns any error into the form in which it is shown.
func failureOf(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	var definition workflow.Errors
	if errors.As(err, &definition) {
		return definitionFailure(definition)
	}
	var refused *culm.Error
	if errors.As(err, &refused) {
		return refusal(refused)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted) {
		return &Failure{Exit: ExitInterrupted, Code: codeInterrupted, Message: "interrupted"}
	}
	if errors.Is(err, store.ErrNewerFormat) {
		return newerFormat(err.Error())
	}
	if isStorage(err) {
		return &Failure{Exit: ExitStorage, Code: codeStorage, Message: err.Error()}
	}
	return &Failure{Exit: ExitStorage, Code: codeInternal, Message: err.Error()}
}

func isStorage(err error) bool {
	for _, target := range []error{store.ErrPoisoned, store.ErrClosed, store.ErrNotFound, store.ErrConflict} {
		if errors.Is(err, target) {
			return true
		}
	}
	var damaged *store.DamagedError
	return errors.As(err, &damaged)
}

// newerFormat is what a newer version wrote, which this one leaves as it is.
func newerFormat(message string) *Failure {
	return (&Failure{Exit: ExitRefused, Code: culm.CodeNewerFormat, Message: message}).help("Use the version that wrote it, or a newer one.")
}

// refusal gives the engine's refusals their exit status.
func refusal(e *culm.Error) *Failure {
	f := &Failure{Exit: ExitRefused, Code: e.Code, Message: e.Message, Details: e.Details}
	switch e.Code {
	case codeInvalidDefinition, codeInvalidInput, culm.CodeInvalidLabel:
		f.Exit = ExitUsage
	case codeStorage, codeInternal:
		f.Exit = ExitStorage
	}
	if e.Hint != "" {
		f.Help = append(f.Help, e.Hint)
	}
	return f
}

func definitionFailure(errs workflow.Errors) *Failure {
	return &Failure{
		Exit: ExitUsage, Code: codeInvalidDefinition,
		Message: errs.Error(), Details: map[string]any{"errors": errs},
		Long: func(w io.Writer, colour bool) {
			errs.Render(w, colour)
		},
	}
}

// write shows the failure to people.
func (f *Failure) write(w io.Writer, p term.Palette) {
	if f.Long != nil {
		f.Long(w, p.On())
	} else {
		lines := strings.Split(strings.TrimRight(f.Message, "\n"), "\n")
		fmt.Fprintf(w, "%s %s\n", p.Bad("error["+f.Code+"]:"), cleanLines(lines))
	}
	for _, line := range f.Help {
		fmt.Fprintf(w, "  %s\n", line)
	}
}

func cleanLines(lines []string) string {
	for i, line := range lines {
		lines[i] = term.Clean(line)
	}
	return strings.Join(lines, "\n  ")
}

// writeJSON shows the failure to programs, as one document.
func (f *Failure) writeJSON(w io.Writer) {
	details := f.Details
	if len(f.Help) > 0 {
		details = maps.Clone(details)
		if details == nil {
			details = map[string]any{}
		}
		details["help"] = slices.Clone(f.Help)
	}
	var doc struct {
		Error struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details,omitempty"`
		} `json:"error"`
	}
	doc.Error.Code, doc.Error.Message, doc.Error.Details = f.Code, f.Message, details
	writeJSONLine(w, doc)
}

// writeJSONLine writes v as one line, with <, > and & as they are.
func writeJSONLine(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode JSON: %w", err)
	}
	_, err := w.Write(b.Bytes())
	return err
}
