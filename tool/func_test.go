package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/culm-dev/culm/tool"
)

type orderArgs struct {
	Item  string          `json:"item" jsonschema:"what to order"`
	Count int             `json:"count,omitempty"`
	Photo []byte          `json:"photo,omitempty"`
	Extra json.RawMessage `json:"extra,omitempty"`
	Wait  time.Duration   `json:"wait,omitempty"`
}

type order struct {
	ID string `json:"id"`
}

func call(t *testing.T, of tool.Tool, args string) (tool.Result, error) {
	t.Helper()
	r, err := tool.NewRegistry(of)
	if err != nil {
		t.Fatal(err)
	}
	res, err := of.Call(t.Context(), tool.Call{Args: json.RawMessage(args)})
	if err == nil {
		if err := r.CheckOutput(of.Spec().Name, res.Output); err != nil {
			t.Errorf("output schema: %v", err)
		}
	}
	return res, err
}

func TestFuncDerivesSchemas(t *testing.T) {
	t.Parallel()
	of, err := tool.Func("order", "Orders.", tool.Write,
		func(_ context.Context, _ tool.Call, in orderArgs) (order, error) {
			return order{ID: in.Item + string(in.Photo) + string(in.Extra) + in.Wait.String()}, nil
		}, tool.WithCapability("shop"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(of)
	if err != nil {
		t.Fatal(err)
	}
	for args, ok := range map[string]bool{
		`{"item":"x","count":2,"photo":"aGk=","extra":{"any":[1]},"wait":1}`: true,
		`{"item":"x"}`:                 true,
		`{"count":2}`:                  false,
		`{"item":"x","unknown":1}`:     false,
		`{"item":1}`:                   false,
		`{"item":"x","photo":[1,2,3]}`: false,
		`[]`:                           false,
	} {
		if err := r.CheckInput("order", json.RawMessage(args)); (err == nil) != ok {
			t.Errorf("%s: %v", args, err)
		}
	}
	if !strings.Contains(string(of.Spec().Input), "what to order") || of.Spec().Capability != "shop" {
		t.Errorf("spec: %+v", of.Spec())
	}
	res, err := call(t, of, `{"item":"x","photo":"aGk=","extra":{"any":[1]},"wait":1}`)
	if want := `{"id":"xhi{\"any\":[1]}1ns"}`; err != nil || string(res.Output) != want || res.Text {
		t.Errorf("got %s, %v, want %s", res.Output, err, want)
	}
}

func TestFuncDecodesStrictly(t *testing.T) {
	t.Parallel()
	of := tool.MustFunc("order", "", tool.Read,
		func(_ context.Context, _ tool.Call, in orderArgs) (string, error) { return in.Item, nil })
	for _, args := range []string{
		`{"item":"x","unknown":1}`, `{"item":"x","item":"y"}`, `{"Item":"x"}`, "{\"item\":\"\xff\"}", `{"item":1}`, `{"item":"x"} {}`, `[]`,
	} {
		if _, err := call(t, of, args); tool.CodeOf(err) != "invalid_input" {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestFuncResults(t *testing.T) {
	t.Parallel()
	type none struct{}
	text := tool.MustFunc("t", "", tool.Read, func(context.Context, tool.Call, none) (string, error) { return "a\"b", nil })
	if res, err := call(t, text, `{}`); err != nil || !res.Text || string(res.Output) != `"a\"b"` {
		t.Errorf("string: %+v, %v", res, err)
	}
	raw := tool.MustFunc("t", "", tool.Read, func(context.Context, tool.Call, none) (json.RawMessage, error) {
		return json.RawMessage(`[1]`), nil
	})
	if res, err := call(t, raw, ``); err != nil || res.Text || string(res.Output) != `[1]` || raw.Spec().Output != nil {
		t.Errorf("raw: %+v, %v", res, err)
	}
	result := tool.MustFunc("t", "", tool.Read, func(context.Context, tool.Call, map[string]any) (tool.Result, error) {
		return tool.Text("x"), nil
	})
	if res, err := call(t, result, `{"any":1}`); err != nil || !res.Text {
		t.Errorf("result: %+v, %v", res, err)
	}
	unknown := errors.New("the line went dead")
	fails := tool.MustFunc("t", "", tool.Write, func(context.Context, tool.Call, none) (string, error) { return "", unknown })
	if _, err := call(t, fails, `{}`); !errors.Is(err, unknown) || tool.CodeOf(err) != "" {
		t.Errorf("an error became definite: %v", err)
	}
	unmarshalable := tool.MustFunc("t", "", tool.Write, func(context.Context, tool.Call, none) (any, error) { return make(chan int), nil })
	if _, err := call(t, unmarshalable, `{}`); tool.CodeOf(err) != "invalid_output" {
		t.Errorf("got %v", err)
	}
}

func TestFuncComputedEffect(t *testing.T) {
	t.Parallel()
	body := func(context.Context, tool.Call, map[string]any) (string, error) { return "", nil }
	plain := tool.MustFunc("t", "", tool.Write, body)
	computed := tool.MustFunc("t", "", tool.Write, body, tool.WithEffectOf(func(args json.RawMessage) tool.Effect {
		if strings.Contains(string(args), "GET") {
			return tool.Read
		}
		return tool.Write
	}))
	for _, tc := range []struct {
		of   tool.Tool
		args string
		want tool.Effect
	}{
		{plain, `{"method":"GET"}`, tool.Write}, {computed, `{"method":"GET"}`, tool.Read}, {computed, `{}`, tool.Write},
	} {
		if got := tool.EffectOfCall(tc.of, json.RawMessage(tc.args)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.args, got, tc.want)
		}
	}
}

func TestFuncRefusesTypesWithoutASchema(t *testing.T) {
	t.Parallel()
	if _, err := tool.Func("t", "", tool.Read, func(context.Context, tool.Call, string) (string, error) { return "", nil }); err == nil {
		t.Error("arguments that are no object were accepted")
	}
	if _, err := tool.Func("t", "", tool.Read, func(context.Context, tool.Call, struct{ F func() }) (string, error) { return "", nil }); err == nil {
		t.Error("a function as an argument was accepted")
	}
}
