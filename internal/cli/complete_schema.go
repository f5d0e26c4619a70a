package cli

import (
	"encoding/json"
	"maps"
	"slices"
)

// property is an argument of a workflow, as far as completion needs it.
type property struct {
	name, description string
	values            []string
}

// propertiesOf reads the properties of an input schema, by their names.
func propertiesOf(schema json.RawMessage) []property {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var list []property
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		list = append(list, propertyOf(name, s.Properties[name]))
	}
	return list
}

func propertyOf(name string, schema json.RawMessage) property {
	p := property{name: name}
	var s struct {
		Description string            `json:"description"`
		Type        any               `json:"type"`
		Enum        []json.RawMessage `json:"enum"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return p // true and false are schemas too
	}
	p.description = s.Description
	if s.Type == "boolean" {
		p.values = []string{"true", "false"}
	}
	for _, value := range s.Enum {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		p.values = append(p.values, text)
	}
	return p
}
