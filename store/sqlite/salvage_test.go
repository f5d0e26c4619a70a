package sqlite_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/culm-dev/culm/store"
)

// A stream's row that does not verify used to take its whole journal with it.
func TestAJournalIsReadThoughItsRowIsDamaged(t *testing.T) {
	t.Parallel()
	path := sample(t)
	s := open(t, path)
	want, err := s.Read(t.Context(), victim, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{
		`session = 'other'`, `last = 1`, `last = 9`, `chain = chain + 1`, `name = 'victin'`, `crc = crc + 1`, `created = 'never'`,
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			victims := copyFile(t, path, t.TempDir(), func(b []byte) []byte { return b })
			execSQL(t, raw(t, victims), `UPDATE streams SET `+change+` WHERE name = 'victim'`)
			damaged := open(t, victims)
			got, err := damaged.Read(t.Context(), victim, 0, 0)
			var d *store.DamagedError
			if !errors.As(err, &d) || d.Stream != victim || d.After != 3 {
				t.Errorf("the error is %v, want damage after event 3", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			blob, err := damaged.Blob(t.Context(), victim, store.BlobID([]byte(victim)))
			if err != nil || string(blob) != victim {
				t.Errorf("blob %q, %v", blob, err)
			}
			if err := damaged.Commit(t.Context(), appendTo(victim, 3, `{}`)); err == nil {
				t.Error("it was appended to")
			}
		})
	}
}
