package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/app"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/livelog"
)

type gcOptions struct {
	olderThan  string
	dryRun     bool
	keepFailed bool
	inDoubt    bool
}

func (in *invocation) gcCommand() *cobra.Command {
	var opts gcOptions
	cmd := &cobra.Command{
		Use:   "gc [flags]",
		Short: "Remove runs that ended long ago, and what belongs to them",
		Long: `Removes runs that succeeded, failed or were cancelled before some time, with their
journals, values and logs, and gives the space back. It is safe at any time, beside
anything that any process does.

Never removed: runs that have not ended, damaged ones, and those that were cancelled
with a step in doubt (culm list --in-doubt), unless --in-doubt is given. An idempotency
key is forgotten when its run is gone and it is 30 days older than what is removed.`,
		Example: `  culm gc --dry-run
  culm gc --older-than 7d --keep-failed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return in.runGC(cmd.Context(), opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.olderThan, "older-than", "30d", "runs that ended longer ago than this `AGE`: 12h, 30d")
	f.BoolVar(&opts.dryRun, "dry-run", false, "only say what would be removed")
	f.BoolVar(&opts.keepFailed, "keep-failed", false, "leave failed runs alone")
	f.BoolVar(&opts.inDoubt, "in-doubt", false, "remove runs too that were cancelled with a step in doubt")
	return cmd
}

// gcReport is what was removed.
type gcReport struct {
	DryRun    bool             `json:"dry_run"`
	Runs      []culm.Collected `json:"runs"`
	Bytes     int64            `json:"bytes"`      // of those runs
	LogBytes  int64            `json:"log_bytes"`  // of their logs
	Keys      int              `json:"keys"`       // forgotten
	GivenBack int64            `json:"given_back"` // by the store's files
}

func (in *invocation) runGC(ctx context.Context, opts gcOptions) (err error) {
	before, err := parseSince(opts.olderThan, in.Now())
	if err != nil || before.IsZero() {
		return usage("--older-than %s: expected an age, such as 12h or 30d", opts.olderThan)
	}
	url, err := in.url()
	if err != nil {
		return err
	}
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	report := gcReport{DryRun: opts.dryRun, Runs: []culm.Collected{}}
	reclaimed, err := o.Collect(ctx, culm.CollectOptions{
		Before: before, KeepFailed: opts.keepFailed, InDoubt: opts.inDoubt, DryRun: opts.dryRun,
	}, func(c culm.Collected) {
		report.Runs = append(report.Runs, c)
		report.Bytes += c.Bytes
		report.LogBytes += removeLog(app.PlaceOf(url), c.RunID, opts.dryRun)
	})
	report.Keys, report.GivenBack = reclaimed.Keys, reclaimed.GivenBack
	if err != nil && len(report.Runs) == 0 {
		return err
	}
	if in.global.json() {
		if werr := writeJSONDoc(in.Stdout, report); err == nil {
			err = werr
		}
		return err
	}
	if werr := in.showGC(&report); err == nil {
		err = werr
	}
	return err
}

// removeLog removes what the tools of a run printed, and returns its size. What
// cannot be removed is nobody's loss.
func removeLog(place app.Place, runID string, dry bool) int64 {
	if place.Folder == "" {
		return 0
	}
	info, err := os.Stat(filepath.Join(place.Logs(), runID+".jsonl"))
	if err != nil {
		return 0
	}
	if !dry && livelog.Remove(place.Logs(), runID) != nil {
		return 0
	}
	return info.Size()
}

func (in *invocation) showGC(r *gcReport) error {
	did := "Removed"
	if r.DryRun {
		did = "Would remove"
		if err := in.listCollected(r.Runs); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s %s (%s", did, counted(len(r.Runs), "run"), byteWords(r.Bytes))
	if r.LogBytes > 0 {
		text += fmt.Sprintf(", and %s of logs", byteWords(r.LogBytes))
	}
	text += ")"
	if r.Keys > 0 {
		text += fmt.Sprintf(", forgot %s", counted(r.Keys, "key"))
	}
	if r.GivenBack > 0 {
		text += fmt.Sprintf("; the store is %s smaller", byteWords(r.GivenBack))
	}
	_, err := fmt.Fprintln(in.Stdout, text+".")
	return err
}

func (in *invocation) listCollected(runs []culm.Collected) error {
	if len(runs) == 0 {
		return nil
	}
	p := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	rows := [][]string{{p.Faint("RUN"), p.Faint("ENDED"), p.Faint("STATUS"), p.Faint("SIZE"), p.Faint("WORKFLOW")}}
	for _, c := range runs {
		rows = append(rows, []string{
			c.RunID, c.EndedAt.Local().Format("2006-01-02 15:04"), paintStatus(p, c.Status, string(c.Status)),
			byteWords(c.Bytes), term.Clean(c.Workflow),
		})
	}
	return writeTable(in.Stdout, rows)
}

// byteWords is a size for people.
func byteWords(n int64) string {
	units := []string{"KiB", "MiB", "GiB", "TiB"}
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/(1<<10), units[0]
	for _, next := range units[1:] {
		if f < 1<<10 {
			break
		}
		f, unit = f/(1<<10), next
	}
	if f < 10 {
		return fmt.Sprintf("%.1f %s", f, unit)
	}
	return fmt.Sprintf("%.0f %s", f, unit)
}
