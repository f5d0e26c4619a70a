package tool

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// DecodeArgs decodes a call's arguments into *v by the rules of encoding/json,
// but strictly: unknown and duplicate members, names in another case and invalid
// UTF-8 are refused. The error is a definite [Failure] with the code
// "invalid_input". No arguments are an empty object.
func DecodeArgs(args json.RawMessage, v any) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	err := jsonv2.Unmarshal(args, v,
		jsonv1.DefaultOptionsV1(),
		jsontext.AllowDuplicateNames(false),
		jsontext.AllowInvalidUTF8(false),
		jsonv2.MatchCaseInsensitiveNames(false),
		jsonv2.RejectUnknownMembers(true),
	)
	if err != nil {
		return Failed("invalid_input", false, "decode arguments: "+err.Error())
	}
	return nil
}
