package canon

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one JSON document. Numbers come as [encoding/json.Number] in canonical
// form, so that a value decoded from any spelling of a document equals the value
// decoded from its canonical form.
func Decode(raw []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := decodeValue(dec)
	if err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		if err == nil {
			err = errors.New("more than one value")
		}
		return nil, fmt.Errorf("decode JSON: %w", plain(err))
	}
	return v, nil
}

func decodeValue(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err == io.EOF {
		return nil, errors.New("no value")
	}
	if err != nil {
		return nil, plain(err)
	}
	switch tok.Kind() {
	case jsontext.KindNull:
		return nil, nil
	case jsontext.KindTrue, jsontext.KindFalse:
		return tok.Bool(), nil
	case jsontext.KindString:
		return tok.String(), nil
	case jsontext.KindNumber:
		n, err := number(tok.String())
		if err != nil {
			return nil, at(string(dec.StackPointer()), err)
		}
		return n, nil
	case jsontext.KindBeginArray:
		return decodeArray(dec)
	default:
		return decodeObject(dec)
	}
}

func decodeArray(dec *jsontext.Decoder) (any, error) {
	items := []any{}
	for dec.PeekKind() != jsontext.KindEndArray {
		item, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, plain(err)
	}
	return items, nil
}

func decodeObject(dec *jsontext.Decoder) (any, error) {
	members := map[string]any{}
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, plain(err)
		}
		key := name.String() // before the next read, which reuses the token's memory
		value, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		members[key] = value
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, plain(err)
	}
	return members, nil
}
