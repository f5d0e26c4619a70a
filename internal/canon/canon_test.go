package canon_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/culm-dev/culm/internal/canon"
)

func TestCanonicalizeWritesOneForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"white space and order", " { \"b\" : 1 ,\n\"a\" : [ true , null ] } ", `{"a":[true,null],"b":1}`},
		{"names sort by UTF-16", `{"\uFB33":1,"\uD83D\uDE00":2,"a":3}`, "{\"a\":3,\"\U0001F600\":2,\"\uFB33\":1}"},
		{"shortest strings", `"\u0041\/\u00e9\u000A\u001f"`, `"A/é\n\u001f"`},
		{"small integer", `7`, `7`},
		{"integers keep their digits past 2^53", `9007199254740993`, `9007199254740993`},
		{"and past 64 bits", `123456789012345678901234567890`, `123456789012345678901234567890`},
		{"negative integer", `-9223372036854775808`, `-9223372036854775808`},
		{"minus zero", `-0`, `0`},
		{"minus zero as a fraction", `-0.0`, `0`},
		{"whole fraction", `1.0`, `1`},
		{"exponent", `1e3`, `1000`},
		{"exponent of zero", `1e0`, `1`},
		{"large exponent", `1e21`, `1e+21`},
		{"upper case exponent", `12.5E-10`, `1.25e-9`},
		{"fraction past the precision", `0.1000000000000000055511151231257827`, `0.1`},
		{"a fraction is a double", `9007199254740993.0`, `9007199254740992`},
		{"underflow", `1e-999999999`, `0`},
		{"largest double", `1.7976931348623157e308`, `1.7976931348623157e+308`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canon.Canonicalize([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestWhatIsNoOneValueIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, message string }{
		{"nothing", ``, ""},
		{"only white space", " \n", ""},
		{"two values", `1 2`, ""},
		{"trailing comma", `[1,]`, ""},
		{"open object", `{"a":1`, ""},
		{"duplicate name", `{"a":{"x":1,"x":2}}`, "at /a/x: duplicate name"},
		{"duplicate by escape", `{"a":1,"\u0061":2}`, "duplicate name"},
		{"invalid UTF-8", "\"\xff\"", "UTF-8"},
		{"invalid UTF-8 in a name", "{\"\xff\":1}", "UTF-8"},
		{"unpaired surrogate", `"\ud800"`, ""},
		{"not finite", `[1e999]`, "at /0: number 1e999 is too large"},
		{"not finite, negative", `-1e999`, "too large"},
		{"endless integer", strings.Repeat("9", 400), "too large"},
		{"NaN", `NaN`, ""},
		{"too deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := canon.Canonicalize([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("Canonicalize: got %s, error %v, want one with %q", got, err, tt.message)
			}
			if got, err := canon.Decode([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("Decode: got %v, error %v, want one with %q", got, err, tt.message)
			}
		})
	}
}

func TestCanonicalizeLeavesItsInputAlone(t *testing.T) {
	t.Parallel()
	in := []byte(`{"b": 1.0, "a": 2}`)
	before := string(in)
	if _, err := canon.Canonicalize(in); err != nil {
		t.Fatal(err)
	}
	if string(in) != before {
		t.Errorf("input became %s", in)
	}
}

func TestDecodeGivesCanonicalNumbers(t *testing.T) {
	t.Parallel()
	got, err := canon.Decode([]byte(`{"a":[1.0,-0,1e3,9007199254740993,"x",true,null,{}],"b":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": []any{
			json.Number("1"), json.Number("0"), json.Number("1000"), json.Number("9007199254740993"),
			"x", true, nil, map[string]any{},
		},
		"b": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	got, err := canon.Encode(map[string]any{
		"z": json.Number("1.50"), "a": []any{nil, true, "é<", 3, int64(-4), uint64(math.MaxUint64), 2.0, math.Copysign(0, -1)},
		"r": json.RawMessage(` {"y": 1, "x": 1e2} `),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"a":[null,true,"é<",3,-4,18446744073709551615,2,0],"r":{"x":100,"y":1},"z":1.5}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, bad := range []any{
		math.NaN(), math.Inf(1), "\xff", map[string]any{"\xff": 1}, struct{}{}, []string{"a"},
		json.Number("abc"), json.Number(""), json.Number(" 1"), json.Number("1e999"), json.Number(`"1"`), json.RawMessage(`{`),
	} {
		if got, err := canon.Encode([]any{bad}); err == nil {
			t.Errorf("Encode(%#v) = %s, want an error", bad, got)
		}
	}
}

func TestMarshalMeansWhatEncodingJSONMeans(t *testing.T) {
	t.Parallel()
	type inner struct {
		N json.Number `json:"n"`
	}
	type outer struct {
		Zero  int               `json:"zero,omitempty"`
		Name  string            `json:"name"`
		Raw   json.RawMessage   `json:"raw,omitempty"`
		Ptr   *int64            `json:"ptr,omitempty"`
		Slice []string          `json:"slice"`
		Map   map[string]*inner `json:"map"`
	}
	n := int64(9007199254740993)
	value := outer{
		Name: "<a>", Raw: json.RawMessage(`{"b":1, "a":2.0}`), Ptr: &n,
		Map: map[string]*inner{"y": {N: "1e2"}, "x": nil},
	}
	got, err := canon.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	std, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	want, err := canon.Canonicalize(std)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
	if got, err := canon.Marshal(outer{Name: "\xff"}); err == nil {
		t.Errorf("invalid UTF-8 gave %s, want an error", got)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	const want = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	if got := canon.Hash([]byte("{}")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// values draws decoded JSON.
func values() *rapid.Generator[any] {
	scalar := rapid.OneOf(
		rapid.Just[any](nil),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
	)
	return rapid.Custom(func(t *rapid.T) any { return draw(t, scalar, 3) })
}

func draw(t *rapid.T, scalar *rapid.Generator[any], depth int) any {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind < 2 {
		return scalar.Draw(t, "scalar")
	}
	size := rapid.IntRange(0, 4).Draw(t, "size")
	if kind == 2 {
		list := make([]any, size)
		for i := range list {
			list[i] = draw(t, scalar, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range size {
		object[rapid.String().Draw(t, "name")] = draw(t, scalar, depth-1)
	}
	return object
}

func TestCanonicalFormIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw, err := canon.Encode(values().Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := canon.Canonicalize(raw)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(raw) {
			t.Fatalf("%s became %s", raw, again)
		}
		decoded, err := canon.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := canon.Encode(decoded)
		if err != nil {
			t.Fatal(err)
		}
		if string(encoded) != string(raw) {
			t.Fatalf("%s came back as %s", raw, encoded)
		}
		spaced, err := json.MarshalIndent(decoded, " ", "\t")
		if err != nil {
			t.Fatal(err)
		}
		fromSpaced, err := canon.Decode(spaced)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decoded, fromSpaced); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzCanonicalize(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[1.0,-0,1e21,9007199254740993]}`, `"\ud83d\ude00"`, `[[[]]]`, `{"a":1,"a":2}`, `1e999`, "\"\xff\"", ` null `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		canonical, err := canon.Canonicalize(raw)
		decoded, decodeErr := canon.Decode(raw)
		if (err == nil) != (decodeErr == nil) {
			t.Fatalf("Canonicalize: %v, but Decode: %v", err, decodeErr)
		}
		if err != nil {
			return
		}
		again, err := canon.Canonicalize(canonical)
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("%q became %q, error %v", canonical, again, err)
		}
		encoded, err := canon.Encode(decoded)
		if err != nil || string(encoded) != string(canonical) {
			t.Fatalf("%q decoded and encoded is %q, error %v", canonical, encoded, err)
		}
		if !json.Valid(canonical) {
			t.Fatalf("%q is no JSON", canonical)
		}
	})
}
