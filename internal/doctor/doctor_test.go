package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/internal/doctor"
	"github.com/culm-dev/culm/store"
	"github.com/culm-dev/culm/store/memory"
)

// well is a patient with nothing wrong.
func well(t *testing.T) doctor.Patient {
	t.Helper()
	st := memory.New().Open()
	t.Cleanup(func() { _ = st.Close() })
	return doctor.Patient{
		Folder: t.TempDir(), Store: st, Guarded: true, Now: time.Now,
		HasTool: func(string) bool { return true },
		Program: func(string) error { return nil },
		Command: func(words ...string) string { return "culm " + strings.Join(words, " ") },
		Space: func(string) (doctor.Space, error) {
			return doctor.Space{Free: 1 << 40, Total: 1 << 41, Files: -1}, nil
		},
	}
}

func TestFindings(t *testing.T) {
	t.Parallel()
	space := func(s doctor.Space) func(string) (doctor.Space, error) {
		return func(string) (doctor.Space, error) { return s, nil }
	}
	for name, tt := range map[string]struct {
		ill   func(t *testing.T, p *doctor.Patient)
		code  string
		level doctor.Level
		typed string // begins what is to be typed first; "" for nothing
	}{
		"well":       {ill: func(*testing.T, *doctor.Patient) {}},
		"full":       {func(_ *testing.T, p *doctor.Patient) { p.Space = space(doctor.Space{Total: 1 << 30, Files: -1}) }, doctor.CodeDiskFull, doctor.Damage, "culm gc"},
		"no files":   {func(_ *testing.T, p *doctor.Patient) { p.Space = space(doctor.Space{Free: 1 << 40}) }, doctor.CodeDiskFull, doctor.Damage, "culm gc"},
		"low":        {func(_ *testing.T, p *doctor.Patient) { p.Space = space(doctor.Space{Free: 64 << 20, Files: -1}) }, doctor.CodeLowSpace, doctor.Problem, "culm gc"},
		"config":     {func(_ *testing.T, p *doctor.Patient) { p.Config = "culm.yaml:1:1: wrong" }, doctor.CodeInvalidConfig, doctor.Problem, ""},
		"newer":      {func(_ *testing.T, p *doctor.Patient) { p.Store, p.OpenError = nil, store.ErrNewerFormat }, doctor.CodeNewerFormat, doctor.Damage, "culm version"},
		"unreadable": {func(_ *testing.T, p *doctor.Patient) { p.Store, p.OpenError = nil, errors.New("no") }, doctor.CodeUnreadable, doctor.Damage, "ls -la"},
		"git":        {func(_ *testing.T, p *doctor.Patient) { p.Program = func(string) error { return errors.New("none") } }, doctor.CodeNoGit, doctor.Note, "sudo apt-get"},
		"guard":      {func(_ *testing.T, p *doctor.Patient) { p.Guarded = false }, doctor.CodeNoGuard, doctor.Note, ""},
		"rights": {func(t *testing.T, p *doctor.Patient) {
			if err := os.WriteFile(filepath.Join(p.Folder, "culm.db"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(p.Folder, 0o711); err != nil {
				t.Fatal(err)
			}
		}, doctor.CodeWrongRights, doctor.Problem, "chmod 700 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := well(t)
			if err := os.Chmod(p.Folder, 0o700); err != nil {
				t.Fatal(err)
			}
			tt.ill(t, &p)
			r, err := doctor.Examine(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if tt.code == "" {
				if len(r.Findings) > 0 || r.Worst() != "" {
					t.Errorf("found %+v", r.Findings)
				}
				return
			}
			if len(r.Findings) != 1 {
				t.Fatalf("found %+v, want %s", r.Findings, tt.code)
			}
			f := r.Findings[0]
			if f.Code != tt.code || f.Level != tt.level || r.Worst() != tt.level || f.Message == "" || f.Meaning == "" {
				t.Errorf("found %+v", f)
			}
			if tt.typed == "" && len(f.Type) > 0 || tt.typed != "" && (len(f.Type) == 0 || !strings.HasPrefix(f.Type[0].Command, tt.typed)) {
				t.Errorf("to type: %+v, want %q", f.Type, tt.typed)
			}
		})
	}
}

// The worst comes first.
func TestTheWorstIsToldFirst(t *testing.T) {
	t.Parallel()
	p := well(t)
	p.Guarded, p.Config = false, "wrong"
	p.Store, p.OpenError = nil, store.ErrNewerFormat
	r, err := doctor.Examine(t.Context(), p)
	if err != nil || len(r.Findings) != 3 || r.Worst() != doctor.Damage {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []doctor.Level{doctor.Damage, doctor.Problem, doctor.Note} {
		if r.Findings[i].Level != want {
			t.Errorf("finding %d is %+v", i, r.Findings[i])
		}
	}
}
