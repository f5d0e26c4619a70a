package tree

import (
	"encoding/json"

	"github.com/charmbracelet/x/ansi"
)

// reading says in a few words what a reference reads.
func reading(template json.RawMessage) string {
	var ref struct {
		From    string `json:"from"`
		Step    string `json:"step"`
		Name    string `json:"name"`
		Pointer string `json:"pointer"`
		CEL     string `json:"cel"`
	}
	if json.Unmarshal(template, &ref) != nil {
		return string(template)
	}
	what := ref.From
	switch {
	case ref.CEL != "":
		what = ref.CEL
	case ref.Step != "":
		what = ref.Step + ref.Pointer
	case ref.Name != "":
		what = ref.Name + ref.Pointer
	default:
		what += ref.Pointer
	}
	return ansi.Truncate(what, 40, "…")
}
