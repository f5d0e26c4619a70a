package jq_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/jq"
	"github.com/culm-dev/culm/tool/tooltest"
)

func TestJSON(t *testing.T) {
	t.Setenv("SECRET", "leak")
	for name, tc := range map[string]struct {
		args       map[string]any
		want, code string
	}{
		"first result":           {map[string]any{"program": ".[]", "input": []int{1, 2}}, `1`, ""},
		"all results":            {map[string]any{"program": ".[]", "input": []int{1, 2}, "all": true}, `[1,2]`, ""},
		"no result":              {map[string]any{"program": "empty"}, "", "expression_failed"},
		"no result, all":         {map[string]any{"program": "empty", "all": true}, `[]`, ""},
		"no input":               {map[string]any{"program": "."}, `null`, ""},
		"variables":              {map[string]any{"program": "$a + $b.c", "args": map[string]any{"b": map[string]int{"c": 2}, "a": 1}}, `3`, ""},
		"digits survive":         {map[string]any{"program": ".id", "input": json.RawMessage(`{"id":12345678901234567890123}`)}, `12345678901234567890123`, ""},
		"halt ends":              {map[string]any{"program": "1, halt, 2", "all": true}, `[1]`, ""},
		"halt before a result":   {map[string]any{"program": "halt"}, "", "expression_failed"},
		"halt with an error":     {map[string]any{"program": `"x" | halt_error`}, "", "expression_failed"},
		"error":                  {map[string]any{"program": `error("no")`}, "", "expression_failed"},
		"error after a result":   {map[string]any{"program": `1, error("no")`, "all": true}, "", "expression_failed"},
		"type error":             {map[string]any{"program": ".a", "input": 1}, "", "expression_failed"},
		"malformed program":      {map[string]any{"program": ".["}, "", "invalid_input"},
		"unknown function":       {map[string]any{"program": "nosuch"}, "", "invalid_input"},
		"unknown variable":       {map[string]any{"program": "$x"}, "", "invalid_input"},
		"no further input":       {map[string]any{"program": "input"}, "", "invalid_input"},
		"no modules":             {map[string]any{"program": `import "m" as m; 1`}, "", "invalid_input"},
		"no environment":         {map[string]any{"program": "[$ENV, env]"}, `[{},{}]`, ""},
		"a result that is large": {map[string]any{"program": `"0123456789abcdef" * 1100000`}, "", "too_large"},
		"results without end":    {map[string]any{"program": `repeat("0123456789abcdef" * 100000)`, "input": 1, "all": true}, "", "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tooltest.Call(t, jq.New(), "", tc.args)
			switch {
			case tc.code != "" && tool.CodeOf(err) != tc.code:
				t.Errorf("got %.100s, %v, want code %q", got, err, tc.code)
			case tc.code == "" && (err != nil || string(got) != tc.want):
				t.Errorf("got %.100s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestJSONEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := tooltest.CallContext(ctx, t, jq.New(), "", map[string]any{"program": "def f: f; f"})
	if !errors.Is(err, context.DeadlineExceeded) || tool.CodeOf(err) != "" {
		t.Errorf("got %v", err)
	}
}
