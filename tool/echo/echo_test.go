package echo_test

import (
	"encoding/json"
	"testing"

	"github.com/culm-dev/culm/tool"
	"github.com/culm-dev/culm/tool/echo"
	"github.com/culm-dev/culm/tool/tooltest"
)

func TestEchoReturnsItsValue(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`null`, `"text"`, `12345678901234567890123`, `{"a":[1,{"b":null}]}`} {
		got, err := tooltest.Call(t, echo.New(), "", map[string]any{"value": json.RawMessage(value)})
		if err != nil || string(got) != value {
			t.Errorf("got %s, %v, want %s", got, err, value)
		}
	}
	if _, err := echo.New().Call(t.Context(), tool.Call{Args: json.RawMessage(`{"value":1,"more":2}`)}); tool.CodeOf(err) != "invalid_input" {
		t.Errorf("got %v", err)
	}
}
