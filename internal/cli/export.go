package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/runfiles"
	"github.com/culm-dev/culm/store"
)

type exportOptions struct {
	runs []string
	all  bool
	to   string
}

func (in *invocation) exportCommand() *cobra.Command {
	var opts exportOptions
	cmd := &cobra.Command{
		Use:   "export RUN... [flags]",
		Short: "Write runs as plain files, verified, for another machine or an archive",
		Long: `Writes each run into a folder of its own: the journal as JSON lines, its values, its
state for people to read, and the SHA-256 of every file. "culm import" reads it. A
run that is worked on is written as it is at one moment, and goes on undisturbed.

Of a damaged run, what verifies is written, and beside it what is stored, and what is
wrong; all others are written too, and the exit status is 6.`,
		Example: `  culm export 7d1e9f
  culm export 7d1e9f 893faa --to ~/archive
  culm export --all --to /mnt/usb/runs`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.runs = args
			return in.runExport(cmd.Context(), opts)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opts.all, "all", false, "all runs")
	f.StringVar(&opts.to, "to", "culm-export", "`DIR` to write to; an earlier export of the same run in it is replaced")
	return cmd
}

// exportedRun is what is reported of one run.
type exportedRun struct {
	RunID   string `json:"run_id"`
	Status  string `json:"status"`
	Events  uint64 `json:"events"`
	Bytes   int64  `json:"bytes"`
	Path    string `json:"path"`
	Damaged string `json:"damaged,omitempty"`
}

func (in *invocation) runExport(ctx context.Context, opts exportOptions) (err error) {
	if opts.all == (len(opts.runs) > 0) {
		return usage("culm export takes runs, or --all").help("For example: %s", in.command("export", "--all"))
	}
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	ids, err := o.exportIDs(ctx, opts)
	if err != nil {
		return err
	}
	report := []exportedRun{}
	var damaged []string
	for _, id := range ids {
		r, err := o.export(ctx, id, opts.to)
		if opts.all && errors.Is(err, &culm.Error{Code: codeNotFound}) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		report = append(report, *r)
		if r.Damaged != "" {
			damaged = append(damaged, id)
		}
		if err := in.showExported(r); err != nil {
			return err
		}
	}
	if in.global.json() {
		if err := writeJSONDoc(in.Stdout, map[string]any{"exported": report}); err != nil {
			return err
		}
	} else if len(report) == 0 {
		in.note("No runs.")
	}
	if len(damaged) > 0 {
		return damagedExport(damaged, opts.to)
	}
	return nil
}

func damagedExport(ids []string, to string) *Failure {
	f := &Failure{
		Exit: ExitStorage, Code: culm.CodeDamaged, Details: map[string]any{"runs": ids},
		Message: fmt.Sprintf("%d of the runs are damaged: of them, what verifies was written, and what is stored beside it", len(ids)),
	}
	if len(ids) == 1 {
		f.Message = fmt.Sprintf("run %s is damaged: what verifies was written, and what is stored beside it", ids[0])
	}
	return f.help("What is wrong stands in %s/runs/%s/damaged/reason.txt", to, ids[0])
}

// exportIDs are the runs that were named.
func (o *opened) exportIDs(ctx context.Context, opts exportOptions) ([]string, error) {
	var ids []string
	for _, name := range opts.runs {
		id, err := o.find(ctx, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	q := store.Query{Limit: 1000}
	for more := opts.all; more; more = q.Cursor != "" {
		page, err := o.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Runs {
			ids = append(ids, r.RunID)
		}
		q.Cursor = page.Next
	}
	return ids, nil
}

func (o *opened) export(ctx context.Context, id, to string) (*exportedRun, error) {
	x, err := o.Export(ctx, id)
	if err != nil {
		return nil, err
	}
	files := &runfiles.Run{
		Extract: x.Extract, Damaged: x.Damaged, At: o.in.Now().UTC(),
		Raw: func(w io.Writer) error { return ignoreDamage(o.ExportRaw(ctx, id, w)) },
	}
	if x.Snapshot != nil {
		files.Snapshot = x.Snapshot
	}
	folder, size, err := runfiles.Write(to, files)
	if err != nil {
		return nil, &Failure{Exit: ExitStorage, Code: codeStorage, Message: err.Error()}
	}
	return &exportedRun{
		RunID: id, Status: x.Extract.Row.Status, Events: x.Extract.Last(), Bytes: size, Path: folder, Damaged: x.Damaged,
	}, nil
}

// ignoreDamage is for what is read because it is damaged.
func ignoreDamage(err error) error {
	if errors.Is(err, &culm.Error{Code: culm.CodeDamaged}) || errors.Is(err, &culm.Error{Code: codeNotFound}) {
		return nil
	}
	return err
}

func (in *invocation) showExported(r *exportedRun) error {
	if in.global.json() {
		return nil
	}
	p := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	line := fmt.Sprintf("%s  %s, %d events, %s  %s", r.RunID, r.Status, r.Events, byteWords(r.Bytes), r.Path)
	if r.Damaged != "" {
		line += "  " + p.Bad("damaged: "+term.Clean(r.Damaged))
	}
	_, err := fmt.Fprintln(in.Stdout, line)
	return err
}
