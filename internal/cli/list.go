package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	culm "github.com/culm-dev/culm"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/cli/tree"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

type listOptions struct {
	status   []string
	workflow string
	session  string
	labels   labels
	inDoubt  bool
	since    string
	limit    int
	cursor   string
}

func (in *invocation) listCommand() *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List runs, newest first, and whether anybody works on them",
		Long: `Lists runs, newest first. OWNER says whether a process works on the run: "alive",
"gone!" if it died (continue or recover takes such a run up), "-" if nobody does.

With -o json each line is one run; if there are more, one line on standard error
holds the cursor for the next page: {"next": "..."}.`,
		Example: `  culm list --status running,suspended
  culm list --in-doubt
  culm list --workflow deploy --since 24h
  culm list --label env=prod --label team=core
  culm list -o json | jq -r 'select(.owner.alive == false) | .run_id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return in.runList(cmd.Context(), opts) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&opts.status, "status", nil, "only these `STATUSES`: queued, running, suspended, succeeded, failed, cancelled")
	f.StringVar(&opts.workflow, "workflow", "", "only runs of this workflow: `ID` or ID@REVISION")
	opts.labels.register(f, "only runs with this label, `NAME=VALUE`; of several, with all")
	f.StringVar(&opts.session, "session", "", "only runs of this session: `NAME`, or local")
	f.BoolVar(&opts.inDoubt, "in-doubt", false, "only runs with a step in doubt, cancelled ones too")
	f.StringVar(&opts.since, "since", "", "only runs created since `TIME`: 90m, 24h, 7d, 2026-01-31 or RFC 3339")
	f.IntVar(&opts.limit, "limit", 50, "at most `N` runs, up to 1000")
	f.StringVar(&opts.cursor, "cursor", "", "go on after this `CURSOR`, which the page before named")
	return cmd
}

func (in *invocation) runList(ctx context.Context, opts listOptions) (err error) {
	q, err := opts.query(in.Now())
	if err != nil {
		return err
	}
	o, err := in.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(ctx, &err)
	page, err := o.List(ctx, q)
	if err != nil {
		return err
	}
	if in.global.json() {
		return in.listJSON(page)
	}
	return in.listText(page, opts)
}

func (opts listOptions) query(now time.Time) (store.Query, error) {
	statuses := []string{
		string(run.StatusQueued), string(run.StatusRunning), string(run.StatusSuspended),
		string(run.StatusSucceeded), string(run.StatusFailed), string(run.StatusCancelled),
	}
	for _, status := range opts.status {
		if !slices.Contains(statuses, status) {
			return store.Query{}, usage("--status %s: %s", status, didYouMean(status, statuses))
		}
	}
	if opts.limit < 1 || opts.limit > 1000 {
		return store.Query{}, usage("--limit %d: expected 1 to 1000", opts.limit)
	}
	since, err := parseSince(opts.since, now)
	if err != nil {
		return store.Query{}, err
	}
	labels, err := opts.labels.parse()
	if err != nil {
		return store.Query{}, err
	}
	return store.Query{
		Kind: "run", Status: opts.status, Workflow: opts.workflow, InDoubt: opts.inDoubt,
		Session: opts.session, Labels: labels,
		Since: since, Limit: opts.limit, Cursor: opts.cursor,
	}, nil
}

// parseSince reads a time, or how long ago it was.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var days int
	if n, err := fmt.Sscanf(text, "%dd", &days); n == 1 && err == nil && days >= 0 && text == fmt.Sprintf("%dd", days) {
		return now.AddDate(0, 0, -days), nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usage("--since %s: expected an age (90m, 24h, 7d), a date (2026-01-31) or a time (RFC 3339)", text)
}

func (in *invocation) listJSON(page *culm.Page) error {
	for _, r := range page.Runs {
		if err := writeJSONLine(in.Stdout, r); err != nil {
			return err
		}
	}
	if page.Next == "" {
		return nil
	}
	return writeJSONLine(in.Stderr, map[string]string{"next": page.Next})
}

func (in *invocation) listText(page *culm.Page, opts listOptions) error {
	if len(page.Runs) == 0 {
		in.note("No runs.")
		return nil
	}
	p := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	rows := [][]string{{"RUN", "AGE", "STATUS", "OWNER", "WORKFLOW", ""}}
	for _, r := range page.Runs {
		rows = append(rows, in.listRow(r, p))
	}
	for i := range rows[0] {
		rows[0][i] = p.Faint(rows[0][i])
	}
	if err := writeTable(in.Stdout, rows); err != nil {
		return err
	}
	if page.Next != "" {
		in.note("There are more:", in.indented(opts.words(page.Next)...))
	}
	return nil
}

func (in *invocation) listRow(r culm.Summary, p term.Palette) []string {
	return []string{
		r.RunID,
		tree.Age(in.Now().Sub(r.CreatedAt)),
		paintStatus(p, r.Status, string(r.Status)),
		ownerWord(r, p),
		term.Clean(r.Workflow),
		listRemark(r, p),
	}
}

func ownerWord(r culm.Summary, p term.Palette) string {
	switch {
	case r.Owner == nil || r.Owner.ID == "":
		return p.Faint("-")
	case r.Owner.Alive:
		return p.Good("alive")
	}
	return p.Bad("gone!")
}

func listRemark(r culm.Summary, p term.Palette) string {
	var parts []string
	if r.Damaged != "" {
		parts = append(parts, p.Bad("damaged: "+term.Clean(r.Damaged)))
	}
	if r.InDoubt {
		parts = append(parts, p.Warn("in doubt"))
	}
	if r.Copy != "" {
		parts = append(parts, p.Warn(r.Copy))
		return strings.Join(parts, "  ")
	}
	if r.Suspension != "" && r.Suspension != run.KindInDoubt {
		parts = append(parts, p.Faint(string(r.Suspension)))
	}
	return strings.Join(parts, "  ")
}

// words are the command line of the next page.
func (opts listOptions) words(cursor string) []string {
	words := []string{"list"}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag, value)
		}
	}
	add("--status", strings.Join(opts.status, ","))
	add("--workflow", opts.workflow)
	add("--session", opts.session)
	for _, label := range opts.labels {
		add("--label", label)
	}
	add("--since", opts.since)
	if opts.inDoubt {
		words = append(words, "--in-doubt")
	}
	if opts.limit != 50 {
		add("--limit", fmt.Sprint(opts.limit))
	}
	return append(words, "--cursor", cursor)
}

// writeTable writes rows in columns. Colours do not count as width.
func writeTable(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell + strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
