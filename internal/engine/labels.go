package engine

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of a run's labels.
const (
	maxLabels     = 32
	maxLabelName  = 63  // bytes
	maxLabelValue = 256 // bytes
)

// checkLabels refuses labels that a listing could not be filtered or shown by.
func checkLabels(labels map[string]string) *Error {
	if len(labels) > maxLabels {
		return refuse(CodeInvalidLabel, "the run has %d labels; at most %d are taken", len(labels), maxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		switch {
		case !labelKey(key):
			return refuse(CodeInvalidLabel, "%q cannot be a label's name", key).with("label", key).
				hint("a name is 1 to 63 of a-z, 0-9, '.', '_', '/' and '-', and begins with a letter or digit")
		case len(value) > maxLabelValue:
			return refuse(CodeInvalidLabel, "the value of label %s has %d bytes; at most %d are taken", key, len(value), maxLabelValue).with("label", key)
		case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
			return refuse(CodeInvalidLabel, "the value of label %s holds control characters or is not UTF-8", key).with("label", key)
		}
	}
	return nil
}

// labelKey reports whether the name is [a-z0-9][a-z0-9._/-]{0,62}.
func labelKey(name string) bool {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	if name == "" || len(name) > maxLabelName || !plain(rune(name[0])) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return !plain(r) && !strings.ContainsRune("._/-", r) })
}
