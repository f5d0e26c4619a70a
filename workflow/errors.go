package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing wrong with a definition.
type Error struct {
	Code Code `json:"code"`
	// File is the name that the document was loaded under; for a definition out
	// of a bundle its id and revision.
	File string `json:"file"`
	// Line and Col are the place, from 1, Col in Unicode code points; 0 if the
	// error is about no place. EndCol is the column after the last character
	// concerned, or 0 if only the beginning is known.
	Line   int `json:"line"`
	Col    int `json:"col"`
	EndCol int `json:"end_col,omitempty"`
	// Path is the place in the document as it was written (RFC 6901).
	Path    string `json:"path"`
	Message string `json:"message"`
	// Expected says what would have been right, without the word "expected".
	Expected string `json:"expected,omitempty"`
	// Near is a name that was probably meant.
	Near string `json:"near,omitempty"`
	// Hint says how to mend it.
	Hint string `json:"hint,omitempty"`

	text *text // for rendering
}

// Error is the error on one line: "file:line:col: code: message".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Place())
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	fmt.Fprintf(&b, "%s: %s", e.Code, e.Message)
	if e.Expected != "" {
		fmt.Fprintf(&b, "; expected %s", e.Expected)
	}
	if e.Near != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Near)
	}
	return b.String()
}

// Place is "file:line:col", as far as known.
func (e *Error) Place() string {
	if e.Line == 0 {
		return e.File
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Col)
}

// Errors are all errors of a definition and of those it reaches: in the order of
// the file, the root's file first. It is never empty when returned as an error.
type Errors []Error

// Error is all errors, one a line. [Errors.Render] prints them with their lines
// of source.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find an [*Error].
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i := range e {
		list[i] = &e[i]
	}
	return list
}

// Has reports whether there is an error with the code.
func (e Errors) Has(code Code) bool {
	return slices.ContainsFunc(e, func(e Error) bool { return e.Code == code })
}

// report collects the errors of one document.
type report struct {
	text *text
	list []*Error
}

// add records an error at a place of the document. The caller may fill in what
// was expected and the like.
func (r *report) add(code Code, at span, ptr, format string, args ...any) *Error {
	e := &Error{
		Code: code, File: r.text.name,
		Line: at.line, Col: at.col, EndCol: at.end,
		Path: ptr, Message: fmt.Sprintf(format, args...),
		text: r.text,
	}
	r.list = append(r.list, e)
	return e
}

// at records an error about a value.
func (r *report) at(v *value, code Code, format string, args ...any) *Error {
	return r.add(code, v.at, v.ptr, format, args...)
}

// sorted are the errors in the order of the file; of the same error at the same
// place only the first stays.
func (r *report) sorted() Errors {
	list := slices.Clone(r.list)
	slices.SortStableFunc(list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	list = slices.CompactFunc(list, func(a, b *Error) bool {
		return a.Code == b.Code && a.Line == b.Line && a.Col == b.Col && a.Path == b.Path && a.Message == b.Message
	})
	errs := make(Errors, len(list))
	for i, e := range list {
		errs[i] = *e
	}
	return errs
}

// clean reports whether nothing was wrong.
func (r *report) clean() bool { return len(r.list) == 0 }
