package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/culm-dev/culm/internal/testkit/effectlog"
)

func TestExitStatus(t *testing.T) {
	t.Parallel()
	empty, broken := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "culm.db"), []byte("not a database, but long enough to be looked at"), 0o600); err != nil {
		t.Fatal(err)
	}
	effects := filepath.Join(t.TempDir(), "effects.jsonl")
	if err := effectlog.Append(effects, effectlog.Line{Run: "r", Step: "a", Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args   []string
		status int
		prints string
	}{
		"no directory":          {nil, 2, "usage"},
		"nothing there":         {[]string{empty}, 0, "checked 0 runs"},
		"effect without intent": {[]string{empty, effects}, 1, "intent_before_effect"},
		"no database":           {[]string{broken}, 2, "checker:"},
		"no effect log":         {[]string{empty, filepath.Join(empty, "none")}, 0, "0 effects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if status := run(tc.args, &out, &out); status != tc.status || !strings.Contains(out.String(), tc.prints) {
				t.Errorf("exit status %d, want %d; printed %q", status, tc.status, &out)
			}
		})
	}
}
