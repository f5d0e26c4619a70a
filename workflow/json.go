package workflow

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/culm-dev/culm/internal/canon"
)

// jsonReader reads a JSON document into a tree with positions.
type jsonReader struct {
	last   struct{ offset, col int } // see column; col 0 until it is known
	data   []byte
	dec    *jsontext.Decoder
	report *report
	lines  []int // byte offset of the beginning of each line
}

// parseJSON reads data as one JSON document; ok is false if it is not JSON at
// all, in which case the report says where it stops being so.
func parseJSON(data []byte, r *report) (v *value, ok bool) {
	j := &jsonReader{data: data, report: r, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			j.lines = append(j.lines, i+1)
		}
	}
	// Duplicate names are found here rather than by the library, to report all.
	j.dec = jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	v, err := j.value("", 0)
	if err == nil {
		var at span
		_, at, err = j.token()
		if err == io.EOF {
			return v, true
		}
		if err == nil {
			r.add(MultipleDocuments, at, "", "the file holds more than one JSON value")
			return v, true
		}
	}
	return nil, j.refuse(err)
}

var errTooDeep = errors.New("nested too deeply")

// refuse reports why reading stopped, and whether it was JSON up to there.
func (j *jsonReader) refuse(err error) (isJSON bool) {
	if errors.Is(err, errTooDeep) {
		j.report.add(NestedTooDeeply, j.end(), string(j.dec.StackPointer()), "values nest more than %d levels deep", maxDepth)
		return true
	}
	if len(bytes.TrimSpace(j.data)) == 0 {
		j.report.add(EmptyDocument, span{}, "", "the file is empty").Expected = "a workflow definition"
		return true
	}
	var syntax *jsontext.SyntacticError
	if !errors.As(err, &syntax) {
		j.report.add(InvalidSyntax, j.end(), "", "not JSON: %v", err)
		return false
	}
	at := j.place(int(syntax.ByteOffset), 0)
	j.report.add(InvalidSyntax, at, string(syntax.JSONPointer), "not JSON: %v", syntax.Err)
	return false
}

func (j *jsonReader) value(ptr string, depth int) (*value, error) {
	tok, at, err := j.token()
	if err != nil {
		return nil, err
	}
	v := &value{at: at, ptr: ptr}
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch tok.Kind() {
	case jsontext.KindNull:
	case jsontext.KindTrue, jsontext.KindFalse:
		v.kind, v.text = boolKind, tok.String()
	case jsontext.KindString:
		v.kind, v.text = stringKind, tok.String()
	case jsontext.KindNumber:
		v.kind, v.text = numberKind, tok.String()
		checkFinite(j.report, v)
	case jsontext.KindBeginArray:
		v.kind = arrayKind
		return v, j.array(v, depth)
	default:
		v.kind = objectKind
		return v, j.object(v, depth)
	}
	return v, nil
}

func (j *jsonReader) array(v *value, depth int) error {
	for j.dec.PeekKind() != jsontext.KindEndArray {
		item, err := j.value(canon.AppendPointer(v.ptr, len(v.items)), depth+1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	return j.close(v)
}

// close reads the end of an array or object, whose span it completes if it
// stands on one line.
func (j *jsonReader) close(v *value) error {
	_, at, err := j.token()
	if err == nil && at.line == v.at.line {
		v.at.end = at.end
	} else {
		v.at.end = 0
	}
	return err
}

func (j *jsonReader) object(v *value, depth int) error {
	seen := map[string]span{}
	for j.dec.PeekKind() != jsontext.KindEndObject {
		tok, at, err := j.token()
		if err != nil {
			return err
		}
		m := member{name: tok.String(), at: at}
		ptr := canon.AppendPointer(v.ptr, m.name)
		checkDuplicate(j.report, seen, m, ptr)
		if m.value, err = j.value(ptr, depth+1); err != nil {
			return err
		}
		v.members = append(v.members, m)
	}
	return j.close(v)
}

// token reads a token and says where it stands.
func (j *jsonReader) token() (jsontext.Token, span, error) {
	start := int(j.dec.InputOffset())
	tok, err := j.dec.ReadToken()
	if err != nil {
		return tok, span{}, err
	}
	for start < len(j.data) && bytes.IndexByte([]byte(" \t\r\n,:"), j.data[start]) >= 0 {
		start++
	}
	return tok, j.place(start, int(j.dec.InputOffset())-start), nil
}

// place is the span of n bytes at an offset.
func (j *jsonReader) place(offset, n int) span {
	offset = min(max(offset, 0), len(j.data))
	i, found := slices.BinarySearch(j.lines, offset)
	if !found {
		i--
	}
	col := j.column(j.lines[i], offset)
	s := span{line: i + 1, col: col}
	if n > 0 {
		s.end = col + utf8.RuneCount(j.data[offset:offset+n])
	}
	return s
}

// column counts from the start of the line, or from the last place that was asked
// for, if that is nearer: canonical JSON is one long line.
func (j *jsonReader) column(line, offset int) int {
	from, col := line, 1
	if j.last.col > 0 && j.last.offset >= line && j.last.offset <= offset {
		from, col = j.last.offset, j.last.col
	}
	col += utf8.RuneCount(j.data[from:offset])
	j.last.offset, j.last.col = offset, col
	return col
}

// end is where reading stopped.
func (j *jsonReader) end() span { return j.place(int(j.dec.InputOffset()), 0) }

// checkDuplicate reports a name that its object has already.
func checkDuplicate(r *report, seen map[string]span, m member, ptr string) {
	first, twice := seen[m.name]
	if !twice {
		seen[m.name] = m.at
		return
	}
	r.add(DuplicateKey, m.at, ptr, "%q stands here a second time; the first is on line %d", m.name, first.line)
}

// checkFinite reports a number that no double holds. Such a number is read as 0,
// so that it is reported once only.
func checkFinite(r *report, v *value) {
	if f, _ := strconv.ParseFloat(v.text, 64); math.IsInf(f, 0) {
		r.at(v, InvalidNumber, "the number is too large").Expected = "a number that a double can hold"
		v.text = "0"
	}
}
