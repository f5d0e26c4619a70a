package expr

import (
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// span is where an identifier or an access stands in the source, in bytes.
func (u *users) span(e ast.Expr) (offset, length int) {
	start, end := spanOf(u.source, u.info, e)
	return start, end - start
}

// spanOf finds where an expression begins and ends in its source: an access as
// a whole, anything else at its first or characteristic token.
func spanOf(source string, info *ast.SourceInfo, e ast.Expr) (start, end int) {
	if e.Kind() == ast.SelectKind {
		// Not where the parser says: it places has(args.x) at the parenthesis.
		start, end = spanOf(source, info, e.AsSelect().Operand())
		return start, endOfAccess(source, end)
	}
	place, ok := info.GetOffsetRange(e.ID())
	if !ok {
		return 0, 0
	}
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index {
		start, end = spanOf(source, info, e.AsCall().Args()[0])
		return start, endOfAccess(source, end)
	}
	return byteOffset(source, int(place.Start)), byteOffset(source, int(place.Stop))
}

// endOfAccess finds the end of the .name or ["name"] that follows.
func endOfAccess(source string, i int) int {
	i = skipSpace(source, i)
	if i < len(source) && source[i] == '[' {
		if length := strings.IndexByte(source[i:], ']'); length > 0 {
			return i + length + 1
		}
	}
	if i < len(source) && source[i] == '.' {
		i = skipSpace(source, i+1)
	}
	for i < len(source) && isNameByte(source[i]) {
		i++
	}
	return i
}

func skipSpace(source string, i int) int {
	return len(source) - len(strings.TrimLeft(source[i:], " \t\r\n"))
}

func isNameByte(c byte) bool {
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
}

// byteOffset converts an offset in characters, which is what the parser counts.
func byteOffset(source string, characters int) int {
	i := 0
	for ; characters > 0 && i < len(source); characters-- {
		_, size := utf8.DecodeRuneInString(source[i:])
		i += size
	}
	return i
}

// offsetOf converts a line from 1 and a column from 0, in characters.
func offsetOf(source string, line, column int) int {
	i := 0
	for ; line > 1 && i < len(source); i++ {
		if source[i] == '\n' {
			line--
		}
	}
	return i + byteOffset(source[i:], column)
}
