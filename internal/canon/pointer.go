package canon

import (
	"fmt"
	"strconv"
	"strings"
)

// Tokens splits an RFC 6901 pointer into its unescaped reference tokens; "" is
// the whole document and has none.
func Tokens(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("pointer %q must be empty or begin with /", pointer)
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		plain, ok := unescape(token)
		if !ok {
			return nil, fmt.Errorf("pointer %q: a ~ must be followed by 0 or 1", pointer)
		}
		tokens[i] = plain
	}
	return tokens, nil
}

// Lookup finds the value that an RFC 6901 pointer points at. ok is false when
// there is none; an error means that the pointer itself is malformed.
func Lookup(v any, pointer string) (value any, ok bool, err error) {
	tokens, err := Tokens(pointer)
	if err != nil {
		return nil, false, err
	}
	for _, token := range tokens {
		if v, ok = Child(v, token); !ok {
			return nil, false, nil
		}
	}
	return v, true, nil
}

// Child finds the member or element of v that one unescaped token names.
func Child(v any, token string) (child any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		child, ok = v[token]
		return child, ok
	case []any:
		i, ok := Index(token)
		if !ok || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// Index reads a pointer token as an array index: digits without leading zeros.
// "-", the place past the end, is no index, for nothing is there.
func Index(token string) (i int, ok bool) {
	if token == "" || (token[0] == '0' && len(token) > 1) {
		return 0, false
	}
	for _, c := range token {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	i, err := strconv.Atoi(token)
	return i, err == nil
}

// AppendPointer returns ptr with one more token: a member's name (string) or an
// element's index (any integer).
func AppendPointer(ptr string, token any) string {
	return ptr + "/" + pointerEscaper.Replace(fmt.Sprint(token))
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func unescape(token string) (string, bool) {
	if !strings.Contains(token, "~") {
		return token, true
	}
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		if token[i] != '~' {
			b.WriteByte(token[i])
			continue
		}
		i++
		switch {
		case i < len(token) && token[i] == '0':
			b.WriteByte('~')
		case i < len(token) && token[i] == '1':
			b.WriteByte('/')
		default:
			return "", false
		}
	}
	return b.String(), true
}
