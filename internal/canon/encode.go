package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// Encode returns the canonical form of a decoded value. Beside what [Decode]
// makes it takes int, int64, uint64, finite float64 and [json.RawMessage] at any
// depth; everything else is an error (use [Marshal] for Go structs).
func Encode(v any) (json.RawMessage, error) {
	raw, err := appendValue(nil, v)
	if err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	out := jsontext.Value(raw)
	if err := out.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", plain(err))
	}
	return json.RawMessage(out), nil
}

// Marshal returns the canonical form of any Go value. Struct tags mean what they
// mean to encoding/json; strings that are not valid UTF-8 are refused where
// encoding/json would replace them.
func Marshal(v any) (json.RawMessage, error) {
	raw, err := jsonv2.Marshal(v,
		jsonv1.DefaultOptionsV1(),
		jsontext.AllowInvalidUTF8(false),
		jsontext.AllowDuplicateNames(false),
		jsonv2.WithMarshalers(jsonv2.MarshalToFunc(marshalNumber)),
	)
	if err != nil {
		return nil, fmt.Errorf("marshal %T: %w", v, err)
	}
	return Canonicalize(raw)
}

// marshalNumber writes encoding/json's Number as the number it is; to the
// library it is a string like any other.
func marshalNumber(enc *jsontext.Encoder, n json.Number) error {
	if n == "" {
		n = "0" // as encoding/json does
	}
	return enc.WriteValue(jsontext.Value(n))
}

// Float is the canonical form of a double; one that is not finite is an error.
func Float(f float64) (json.Number, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", errors.New("a number that is not finite")
	}
	if f == 0 {
		return "0", nil // RFC 8785 knows no negative zero
	}
	text := jsontext.Value(strconv.AppendFloat(nil, f, 'g', -1, 64))
	if err := text.Canonicalize(); err != nil {
		return "", err
	}
	return json.Number(text), nil
}

func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendString(dst, v)
	case json.Number:
		return appendNumber(dst, v)
	case []any:
		return appendArray(dst, v)
	case map[string]any:
		return appendObject(dst, v)
	case json.RawMessage:
		raw, err := Canonicalize(v)
		return append(dst, raw...), err
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case float64:
		n, err := Float(v)
		return append(dst, n...), err
	default:
		return nil, fmt.Errorf("a %T is not a decoded JSON value", v)
	}
}

func appendString(dst []byte, s string) ([]byte, error) {
	dst, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		return nil, plain(err)
	}
	return dst, nil
}

func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	raw := jsontext.Value(n)
	if raw.Kind() != jsontext.KindNumber || !raw.IsValid() || strings.ContainsAny(string(n), " \t\r\n") {
		return nil, fmt.Errorf("%q is not a JSON number", abbreviate(string(n)))
	}
	canonical, err := number(string(n))
	return append(dst, canonical...), err
}

func appendArray(dst []byte, items []any) ([]byte, error) {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, item); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return append(dst, ']'), nil
}

// appendObject writes members in any order: the caller sorts the whole once.
func appendObject(dst []byte, members map[string]any) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for name, value := range members {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		var err error
		if dst, err = appendString(dst, name); err != nil {
			return nil, err
		}
		if dst, err = appendValue(append(dst, ':'), value); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return append(dst, '}'), nil
}
