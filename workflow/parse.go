package workflow

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const (
	maxDocumentBytes = 2 << 20 // comments included; a bundle may be 512 KiB
	maxDepth         = 128     // of values in a document
)

// parse reads one document, YAML or JSON by its content. The value is nil if it
// could not be read; the report then says why.
func parse(name string, data []byte) (*value, *report) {
	data = trimMark(data)
	r := &report{text: newText(name, data, true)}
	if len(data) > maxDocumentBytes {
		r.add(DocumentTooLarge, span{}, "", "the file is larger than 2 MiB")
		return nil, r
	}
	if !utf8.Valid(data) {
		r.add(InvalidUTF8, invalidAt(data), "", "the file is not UTF-8")
		return nil, r
	}
	if !looksLikeJSON(name, data) {
		return parseYAML(data, r), r
	}
	asJSON := &report{text: newText(name, data, false)}
	v, ok := parseJSON(data, asJSON)
	if ok || strings.HasSuffix(name, ".json") {
		return v, asJSON
	}
	return parseYAML(data, r), r // a YAML flow mapping begins like JSON
}

func looksLikeJSON(name string, data []byte) bool {
	if strings.HasSuffix(name, ".json") {
		return true
	}
	data = bytes.TrimLeft(data, " \t\r\n")
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// invalidAt is the place of the first byte that is not UTF-8.
func invalidAt(data []byte) span {
	offset := 0
	for offset < len(data) {
		c, n := utf8.DecodeRune(data[offset:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		offset += n
	}
	before := data[:offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	col := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return span{line, col, col + 1}
}
