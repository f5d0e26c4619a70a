package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/run"
)

func (in *invocation) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import DIR...",
		Short: "Bring runs here that were exported elsewhere",
		Long: `Reads what "culm export" wrote: DIR is the folder that it wrote to, or that of one
run. Everything is verified before anything is written: every file, every checksum of
the journal, every event, and that they follow on each other.

A run that has ended becomes exactly what it was. One that has not is suspended, with
its open calls in doubt. It may go on where it came from, so that it goes on here only
after "culm continue RUN --takeover" said that it does not. What is here already is left
as it is; importing the same again changes nothing.`,
		Example: `  culm import ~/archive
  culm import culm-export/runs/01a22e3d-cb9e-72e7-8204-893faa2c0daf`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return in.runImport(cmd.Context(), args) },
	}
}

// importedRun is what is reported of one run that is here now.
type importedRun struct {
	RunID        string `json:"run_id"`
	Status       string `json:"status"`
	Events       uint64 `json:"events"`
	AlreadyThere bool   `json:"already_there"`
	Copy         string `json:"copy,omitempty"`
}

// refusedRun is one that is not.
type refusedRun struct {
	Path    string `json:"path"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (in *invocation) runImport(ctx context.Context, dirs []string) (err error) {
	var folders []string
	for _, dir := range dirs {
		found, err := runfiles.Find(dir)
		if err != nil {
			return importFailure(err)
		}
		folders = append(folders, found...)
	}
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	imported, refused := []importedRun{}, []refusedRun{}
	var first *Failure
	for _, folder := range folders {
		r, view, err := o.importRun(ctx, folder)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			f := importFailure(err)
			refused = append(refused, refusedRun{folder, f.Code, f.Message})
			if first == nil {
				first = f
			}
			continue
		}
		imported = append(imported, *r)
		if err := in.showImported(r, view); err != nil {
			return err
		}
	}
	if in.global.json() {
		if err := writeJSONDoc(in.Stdout, map[string]any{"imported": imported, "refused": refused}); err != nil {
			return err
		}
	}
	return importResult(first, refused)
}

// importResult is the failure of the first run that was refused, with all others.
func importResult(first *Failure, refused []refusedRun) error {
	if first == nil {
		return nil
	}
	for _, r := range refused[1:] {
		first.Message += fmt.Sprintf("\n%s (%s)", r.Message, r.Code)
	}
	return first
}

func (o *opened) importRun(ctx context.Context, folder string) (*importedRun, *run.View, error) {
	x, err := runfiles.Read(folder)
	if err != nil {
		return nil, nil, err
	}
	got, err := o.Import(ctx, x)
	if err != nil {
		return nil, nil, err
	}
	v := got.View
	return &importedRun{v.RunID, string(v.Status), v.LastSequence, got.AlreadyThere, v.Copy}, v, nil
}

// importFailure tells what is wrong with what was to be imported from what is wrong
// here.
func importFailure(err error) *Failure {
	var bad *runfiles.Error
	switch {
	case !errors.As(err, &bad):
		return failureOf(err)
	case bad.Newer:
		return newerFormat(bad.Error())
	}
	f := &Failure{Exit: ExitRefused, Code: culm.CodeDamaged, Message: bad.Error(), Details: map[string]any{"path": bad.Path}}
	return f.help("Nothing of that run was imported. Export it once more, or copy the files once more.")
}

func (in *invocation) showImported(r *importedRun, v *run.View) error {
	if in.global.json() {
		return nil
	}
	words := "imported"
	if r.AlreadyThere {
		words = "was here already"
	}
	if _, err := fmt.Fprintf(in.Stdout, "%s  %s: %s, %d events\n", r.RunID, words, term.Clean(outcome(v)), r.Events); err != nil {
		return err
	}
	if v.Copy != "" {
		in.note(in.advice(v)...)
	}
	return nil
}
