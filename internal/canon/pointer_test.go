package canon_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
)

// The document and pointers of RFC 6901, section 5, and what lies beside them.
func TestLookup(t *testing.T) {
	t.Parallel()
	doc, err := canon.Decode([]byte(`{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8,"~1":9}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		pointer string
		want    string // canonical, "" for no value
	}{
		{"/foo", `["bar","baz"]`}, {"/foo/0", `"bar"`}, {"/", `0`}, {"/a~1b", `1`}, {"/c%d", `2`}, {"/e^f", `3`},
		{"/g|h", `4`}, {`/i\j`, `5`}, {`/k"l`, `6`}, {"/ ", `7`}, {"/m~0n", `8`}, {"/~01", `9`},
		{"/foo/2", ""}, {"/foo/-", ""}, {"/foo/00", ""}, {"/foo/01", ""}, {"/foo/+1", ""}, {"/foo/", ""}, {"/foo/1/x", ""},
		{"/foo/99999999999999999999", ""}, {"/nope", ""}, {"//x", ""},
	} {
		t.Run(tt.pointer, func(t *testing.T) {
			t.Parallel()
			got, ok, err := canon.Lookup(doc, tt.pointer)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				if tt.want != "" {
					t.Fatalf("found nothing, want %s", tt.want)
				}
				return
			}
			raw, err := canon.Encode(got)
			if err != nil {
				t.Fatal(err)
			}
			if string(raw) != tt.want {
				t.Errorf("got %s, want %q", raw, tt.want)
			}
		})
	}
	if got, ok, err := canon.Lookup(doc, ""); err != nil || !ok || !cmp.Equal(got, doc) {
		t.Errorf(`"" is not the whole: %v, %v, %v`, got, ok, err)
	}
	for _, malformed := range []string{"foo", "foo/0", "/a~", "/a~2", "#/foo"} {
		if _, _, err := canon.Lookup(doc, malformed); err == nil {
			t.Errorf("pointer %q was taken", malformed)
		}
	}
}

func TestAppendedTokensComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.String()).Draw(t, "names")
		pointer := ""
		for _, name := range names {
			pointer = canon.AppendPointer(pointer, name)
		}
		got, err := canon.Tokens(pointer)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) > 0 && !cmp.Equal(names, got) {
			t.Fatalf("%q gave %q, want %q", pointer, got, names)
		}
	})
	if got := canon.AppendPointer("/a", 12); got != "/a/12" {
		t.Errorf("got %s", got)
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	candidates := []string{"prompt", "pointer", "parallel", "args", "as"}
	for _, tt := range []struct{ word, want string }{
		{"promt", "prompt"}, {"Pointer", "pointer"}, {"paralel", "parallel"}, {"parallle", "parallel"}, {"agrs", "args"},
		{"arg", "args"}, {"xyzzy", ""}, {"", ""}, {"a", "as"}, {"args", ""}, {"completely different", ""},
	} {
		if got := canon.Near(tt.word, candidates); got != tt.want {
			t.Errorf("Near(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}
