package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/culm-dev/culm/internal/canon"
)

// missing says which part of a pointer leads nowhere, and what is there instead:
// names and sizes, never values.
func missing(subject string, v any, pointer string) string {
	tokens, err := canon.Tokens(pointer)
	if err != nil {
		return err.Error()
	}
	at := ""
	for _, token := range tokens {
		child, ok := canon.Child(v, token)
		if ok {
			v, at = child, canon.AppendPointer(at, token)
			continue
		}
		place := "it"
		if at != "" {
			place = at
		}
		return fmt.Sprintf("%s has no %s: %s is %s", subject, canon.AppendPointer(at, token), place, describe(v, token))
	}
	return fmt.Sprintf("%s has no %s", subject, pointer)
}

// describe says what a value offers to one who looks for a token in it.
func describe(v any, token string) string {
	switch v := v.(type) {
	case map[string]any:
		return describeObject(v, token)
	case []any:
		return describeArray(v, token)
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	}
	return "a number"
}

func describeObject(members map[string]any, token string) string {
	const most = 8
	names := sortedNames(members)
	near := canon.Near(token, names)
	switch {
	case len(names) == 0:
		return "an empty object"
	case near != "":
		return fmt.Sprintf("an object, did you mean %q?", near)
	case len(names) > most:
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", len(names)-most))
	}
	return "an object with " + strings.Join(names, ", ")
}

func describeArray(items []any, token string) string {
	if _, ok := canon.Index(token); !ok {
		return fmt.Sprintf("an array, and %q is no index", token)
	}
	if len(items) == 1 {
		return "an array of 1 item"
	}
	return fmt.Sprintf("an array of %d items", len(items))
}
