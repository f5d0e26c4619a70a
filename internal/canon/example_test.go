package canon_test

import (
	"fmt"

	"github.com/culm-dev/culm/internal/canon"
)

func ExampleCanonicalize() {
	raw, err := canon.Canonicalize([]byte(`{"size": 1e3, "id": 9007199254740993, "name": "caf\u00e9"}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(raw))
	// Output: {"id":9007199254740993,"name":"café","size":1000}
}
