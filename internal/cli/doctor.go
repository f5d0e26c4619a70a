package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/culm-dev/culm/internal/app"
	"github.com/culm-dev/culm/internal/cli/term"
	"github.com/culm-dev/culm/internal/doctor"
	"github.com/culm-dev/culm/store"
)

func (in *invocation) doctorCommand() *cobra.Command {
	var salvage string
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Say what is wrong with the store and around it, and what to type",
		Long: `Reads and verifies the whole store, and looks at rights, locks, processes, the clock,
free space, the settings and the tools of unfinished runs. Of everything that is wrong
it says what it is, what it means, and exactly what to type. It changes nothing.

Exit status: 0 nothing needs you, 5 something does, 6 what is stored is damaged, or
cannot be read or written.

--salvage NEW copies every run that reads to the new folder NEW, and of a damaged one
what verifies, which can be shown and restarted there. End all culm processes first.`,
		Example: `  culm doctor
  culm doctor -o json | jq -r '.findings[].code'
  culm doctor --salvage ~/culm-saved`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if salvage != "" {
				return in.runSalvage(cmd.Context(), salvage)
			}
			return in.runDoctor(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&salvage, "salvage", "", "copy what reads to the new folder `NEW`")
	return cmd
}

// doctorReport is what programs get.
type doctorReport struct {
	Healthy    bool             `json:"healthy"`
	Store      string           `json:"store"`
	Format     int              `json:"format"`
	Generation string           `json:"generation"`
	Copied     string           `json:"copied,omitempty"`
	Bytes      int64            `json:"bytes"`
	Runs       int              `json:"runs"`
	Unfinished int              `json:"unfinished"`
	Findings   []doctor.Finding `json:"findings"`
}

func (in *invocation) runDoctor(ctx context.Context) (err error) {
	patient, url, err := in.patient(ctx)
	if err != nil {
		return err
	}
	if patient.Store != nil {
		defer func() { err = orClose(err, patient.Store) }()
	}
	report, err := doctor.Examine(ctx, *patient)
	if err != nil {
		return &Failure{Exit: ExitStorage, Code: codeStorage, Message: err.Error()}
	}
	if in.global.json() {
		id := report.Identity
		err = writeJSONDoc(in.Stdout, doctorReport{
			Healthy: report.Worst() == "" || report.Worst() == doctor.Note, Store: url, Format: id.Format,
			Generation: id.Generation, Copied: id.Copied, Bytes: id.Size,
			Runs: report.Runs, Unfinished: report.Unfinished, Findings: report.Findings,
		})
	} else {
		_, err = io.WriteString(in.Stdout, in.doctorPage(url, report))
	}
	if err != nil {
		return err
	}
	switch report.Worst() {
	case doctor.Damage:
		return exit(ExitStorage)
	case doctor.Problem:
		return exit(ExitRefused)
	}
	return nil
}

// patient is all that the doctor looks at. Settings that cannot be read are a
// finding, and the store is then looked for without them.
func (in *invocation) patient(ctx context.Context) (*doctor.Patient, string, error) {
	p := &doctor.Patient{Guarded: in.Executable != "", Command: in.command, Now: in.Now}
	cfg, err := in.loadConfig()
	if err != nil {
		f := failureOf(err)
		if f.Code != codeInvalidConfig {
			return nil, "", err
		}
		p.Config, cfg = f.Message, &config{}
	}
	url, err := in.global.storeURL(cfg)
	if err != nil {
		return nil, "", err
	}
	registry, err := in.registry()
	if err != nil {
		return nil, "", err
	}
	p.HasTool = func(name string) bool { _, ok := registry.Lookup(name); return ok }
	p.Folder = app.PlaceOf(url).Folder
	st, err := app.OpenKept(ctx, url, true)
	if err != nil {
		if errors.Is(err, errors.ErrUnsupported) || ctx.Err() != nil {
			return nil, "", keptFailure(url, err)
		}
		p.OpenError = err
		return p, url, nil
	}
	p.Store = st
	return p, url, nil
}

// doctorPage is the report for people.
func (in *invocation) doctorPage(url string, r *doctor.Report) string {
	p := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	var b strings.Builder
	id := r.Identity
	fmt.Fprintf(&b, "%s %s", p.Faint("store"), term.Clean(url))
	if id.Generation != "" {
		fmt.Fprintf(&b, " (%s, format %d)", byteWords(id.Size), id.Format)
	}
	fmt.Fprintf(&b, "\n%s  %d", p.Faint("runs"), r.Runs)
	if r.Unfinished > 0 {
		fmt.Fprintf(&b, ", %d not ended", r.Unfinished)
	}
	b.WriteString("\n")
	for _, f := range r.Findings {
		finding(&b, p, &f)
	}
	if worst := r.Worst(); worst == "" || worst == doctor.Note {
		b.WriteString("\n" + p.Good("Nothing needs you.") + "\n")
	}
	return b.String()
}

func finding(b *strings.Builder, p term.Palette, f *doctor.Finding) {
	mark := map[doctor.Level]string{
		doctor.Damage: p.Bad("damage"), doctor.Problem: p.Warn("problem"), doctor.Note: p.Faint("note"),
	}[f.Level]
	fmt.Fprintf(b, "\n%s[%s]: %s\n", mark, f.Code, cleanLines(strings.Split(f.Message, "\n")))
	if f.Meaning != "" {
		fmt.Fprintf(b, "  That means: %s.\n", term.Clean(f.Meaning))
	}
	width := 0
	for _, line := range f.Type {
		width = max(width, len(line.Command))
	}
	if len(f.Type) > 0 {
		b.WriteString("  To type:\n")
	}
	for _, line := range f.Type {
		if line.Does == "" {
			fmt.Fprintf(b, "    %s\n", term.Clean(line.Command))
			continue
		}
		fmt.Fprintf(b, "    %-*s  %s\n", width, term.Clean(line.Command), p.Faint("# "+term.Clean(line.Does)))
	}
}

// salvageReport is what was saved.
type salvageReport struct {
	Path string           `json:"path"`
	Runs []store.Salvaged `json:"runs"`
}

func (in *invocation) runSalvage(ctx context.Context, dest string) (err error) {
	url, err := in.url()
	if err != nil {
		return err
	}
	st, err := app.OpenKept(ctx, url, true)
	if err != nil {
		return keptFailure(url, err)
	}
	defer func() { err = orClose(err, st) }()
	report := salvageReport{Path: dest, Runs: []store.Salvaged{}}
	place := app.PlaceOf(url)
	err = copyInto(place, dest, func(path string) error {
		return st.Salvage(ctx, path, func(s store.Salvaged) { report.Runs = append(report.Runs, s) })
	})
	if err != nil {
		return backupFailure(dest, err)
	}
	if in.global.json() {
		return writeJSONDoc(in.Stdout, report)
	}
	return in.showSalvaged(&report, place)
}

func (in *invocation) showSalvaged(r *salvageReport, place app.Place) error {
	p := term.NewPalette(term.WantsColour(in.Stdout, in.Env))
	whole := 0
	for _, s := range r.Runs {
		if s.Damage == "" {
			whole++
			continue
		}
		if _, err := fmt.Fprintf(in.Stdout, "%s  %s  %s\n", s.Stream, counted(int(s.Events), "event"), p.Bad("damaged: "+term.Clean(s.Damage))); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(in.Stdout, "Saved %s whole and %d in part, to %s.\n", counted(whole, "run"), len(r.Runs)-whole, r.Path); err != nil {
		return err
	}
	flags := place.Flags(r.Path)
	in.note("To look at it:", "  "+line(append([]string{"culm", "doctor"}, flags...)...), "To begin a damaged run anew:",
		"  "+line(append([]string{"culm", "restart", "RUN"}, flags...)...))
	return nil
}
