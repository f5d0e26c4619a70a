// Package canon holds the one form in which Culm compares, hashes and stores
// JSON: RFC 8785 (sorted names, no white space, shortest strings and numbers),
// except that integers keep their digits, so that 64-bit ids survive.
//
// What that means for numbers:
//
//   - a number written without fraction and exponent keeps its digits, however
//     many: 9007199254740993 stays 9007199254740993; only -0 becomes 0;
//   - every other number is read as a double and written as RFC 8785 says:
//     1.0 and 1e0 become 1, 1e3 becomes 1000, 1e21 becomes 1e+21;
//   - a number that is not finite as a double, such as 1e999 or an integer of
//     400 digits, is refused.
//
// Invalid UTF-8 (unpaired surrogate escapes too) and duplicate names are
// refused, never repaired.
//
// A decoded value is nil, a bool, a string, a [encoding/json.Number] in
// canonical form, a []any or a map[string]any. All functions are pure and safe
// for concurrent use.
package canon

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonicalize returns the canonical form of one JSON document. The result does
// not share memory with raw.
func Canonicalize(raw []byte) (json.RawMessage, error) {
	if err := checkNumbers(raw); err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", err)
	}
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, fmt.Errorf("canonicalize JSON: %w", plain(err))
	}
	return json.RawMessage(v), nil
}

// Hash returns the hex SHA-256 of raw as it stands; canonicalize first.
func Hash(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// checkNumbers reads the one document in raw and refuses numbers that no double
// can hold: the library would clamp them to the largest finite one.
func checkNumbers(raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		tok, err := dec.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return plain(err)
		}
		if tok.Kind() == jsontext.KindNumber {
			if _, err := number(tok.String()); err != nil {
				return at(string(dec.StackPointer()), err)
			}
		}
	}
}

// number returns the canonical form of a JSON number.
func number(text string) (json.Number, error) {
	f, _ := strconv.ParseFloat(text, 64)
	if math.IsInf(f, 0) {
		return "", fmt.Errorf("number %s is too large for a double", abbreviate(text))
	}
	switch {
	case text == "-0":
		return "0", nil
	case !strings.ContainsAny(text, ".eE"):
		return json.Number(text), nil
	}
	return Float(f)
}

// abbreviate keeps messages about endless numbers short.
func abbreviate(text string) string {
	const most = 24
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// at adds a place to an error; the root has none.
func at(pointer string, err error) error {
	if pointer == "" {
		return err
	}
	return fmt.Errorf("at %s: %w", pointer, err)
}

// plain takes the library's own name out of its syntax errors.
func plain(err error) error {
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		return err
	}
	if errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
		return at(string(syntax.JSONPointer), errDuplicate)
	}
	return at(string(syntax.JSONPointer), fmt.Errorf("at byte %d: %w", syntax.ByteOffset, syntax.Err))
}

var errDuplicate = errors.New("duplicate name")
