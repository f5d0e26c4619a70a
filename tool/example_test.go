package tool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm/tool"
)

func ExampleFunc() {
	type args struct {
		City string `json:"city" jsonschema:"where to look"`
		Days int    `json:"days,omitempty"`
	}
	type forecast struct {
		Text string `json:"text"`
	}
	weather, err := tool.Func("weather", "Forecasts the weather.", tool.Read,
		func(_ context.Context, _ tool.Call, in args) (forecast, error) {
			if in.City == "" {
				return forecast{}, tool.Failed("not_found", false, "no such city")
			}
			return forecast{Text: "rain in " + in.City}, nil
		},
		tool.WithCapability(tool.CapNet))
	if err != nil {
		fmt.Println(err)
		return
	}
	registry, err := tool.NewRegistry(weather)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registry.CheckInput("weather", json.RawMessage(`{"city":"Oslo"}`)))
	res, err := weather.Call(context.Background(), tool.Call{Args: json.RawMessage(`{"city":"Oslo"}`)})
	fmt.Println(string(res.Output), err)
	// Output:
	// <nil>
	// {"text":"rain in Oslo"} <nil>
}

func ExampleMustFunc() {
	type args struct {
		Name string `json:"name"`
	}
	hello := tool.MustFunc("hello", "Greets.", tool.Read,
		func(_ context.Context, _ tool.Call, in args) (string, error) { return "Hello, " + in.Name, nil })
	res, err := hello.Call(context.Background(), tool.Call{Args: json.RawMessage(`{"name":"Ada"}`)})
	fmt.Println(string(res.Output), res.Text, err)
	// Output: "Hello, Ada" true <nil>
}
