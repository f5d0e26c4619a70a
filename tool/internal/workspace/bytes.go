package workspace

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"
)

// Bytes is output that is a JSON string if it is UTF-8, else {"base64": "..."}.
type Bytes []byte

// MarshalJSON implements [json.Marshaler].
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(b)})
}
