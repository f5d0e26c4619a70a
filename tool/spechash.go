package tool

import (
	"encoding/json"

	"github.com/culm-dev/culm/internal/canon"
)

// SpecHash pins a tool in a run: the lower-case hexadecimal SHA-256 over the
// canonical JSON of its name, effect, capability and schemas. The description
// does not count, nor do white space and member order in a schema; an absent
// capability counts as the one it stands for.
func SpecHash(s Spec) string {
	doc, err := json.Marshal(struct {
		Name       string          `json:"name"`
		Effect     Effect          `json:"effect"`
		Capability string          `json:"capability"`
		Input      json.RawMessage `json:"input"`
		Output     json.RawMessage `json:"output"`
	}{s.Name, s.Effect, capabilityOf(s), hashable(s.Input), hashable(s.Output)})
	if err != nil { // cannot happen: every part marshals
		return canon.Hash([]byte(s.Name))
	}
	return canon.Hash(doc)
}

// hashable is the canonical form of a schema or, for one that is not strict JSON
// and that no registry accepts, its bytes as a string: any spec has a hash.
func hashable(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		return nil
	}
	if canonical, err := canon.Canonicalize(schema); err == nil {
		return canonical
	}
	quoted, _ := json.Marshal(string(schema))
	return quoted
}
