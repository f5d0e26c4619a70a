package workflow

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/culm-dev/culm/internal/canon"
)

// Ref names a definition in one revision: "<id>@<revision>".
func Ref(id string, revision int) string { return id + "@" + strconv.Itoa(revision) }

// bare is a Definition without its methods, as encoding/json sees it.
type bare Definition

// Canonical is the definition as canonical JSON: RFC 8785, except that integers
// keep their digits. For a definition that was read from canonical JSON it is
// the canonical JSON of those bytes: no field is dropped and none added. A
// definition that was changed after it was read must go through
// [FromDefinition] first.
func (d *Definition) Canonical() (json.RawMessage, error) {
	if d.written != nil {
		return bytes.Clone(d.written), nil
	}
	return canon.Marshal((*bare)(d))
}

// Hash is the hex SHA-256 of [Definition.Canonical].
func (d *Definition) Hash() (string, error) {
	raw, err := d.Canonical()
	if err != nil {
		return "", err
	}
	return canon.Hash(raw), nil
}

// MarshalJSON is [Definition.Canonical].
func (d *Definition) MarshalJSON() ([]byte, error) { return d.Canonical() }

// keepWritten remembers the canonical JSON of a definition as it was written, if
// the struct cannot express it: an empty list of capabilities, for example.
func (d *Definition) keepWritten(written json.RawMessage) {
	if !bytes.Equal(fieldsOnly(d), written) {
		d.written = written
	}
}

// canonicalSource is the canonical JSON of a definition as it was written, with
// the plan's shorthand expanded.
func canonicalSource(root *value, plan *Node) (json.RawMessage, error) {
	members, _ := root.decoded().(map[string]any)
	if plan != nil {
		raw, err := canon.Marshal(plan)
		if err != nil {
			return nil, err
		}
		members["plan"] = raw
	}
	return canon.Encode(members)
}
