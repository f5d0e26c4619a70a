package shell

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/culm-dev/culm/tool/internal/workspace"
)

// capped keeps the first and the last bytes of a stream, half of its limit each.
// It is written by one goroutine and read after that has ended.
type capped struct {
	half  int
	head  []byte
	tail  []byte // at most 2*half bytes, of which the last half count
	total int64
}

func newCapped(limit int) *capped { return &capped{half: max(limit/2, 1)} }

// Write implements [io.Writer]; it never fails.
func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	fits := min(c.half-len(c.head), n)
	c.head = append(c.head, p[:fits]...)
	p = p[fits:]
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*c.half {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.half:]...)
	}
	return n, nil
}

// parts are the bytes kept, and how many between them were not.
func (c *capped) parts() (head, tail []byte, omitted int64) {
	tail = c.tail
	if len(tail) > c.half {
		tail = tail[len(tail)-c.half:]
	}
	return c.head, tail, c.total - int64(len(c.head)+len(tail))
}

func (c *capped) truncated() bool {
	_, _, omitted := c.parts()
	return omitted > 0
}

// value is what the result shows of the stream.
func (c *capped) value() any {
	head, tail, omitted := c.parts()
	if omitted == 0 {
		return workspace.Bytes(bytes.Join([][]byte{head, tail}, nil))
	}
	// The cut may have gone through a character.
	textHead, textTail := trimToRunes(head, false, true), trimToRunes(tail, true, false)
	if !utf8.Valid(textHead) || !utf8.Valid(textTail) {
		return map[string]any{
			"base64":        base64.StdEncoding.EncodeToString(head),
			"tail_base64":   base64.StdEncoding.EncodeToString(tail),
			"omitted_bytes": omitted,
		}
	}
	omitted += int64(len(head) - len(textHead) + len(tail) - len(textTail))
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", textHead, omitted, textTail)
}

// lastLines is the end of the stream for a message: at most 20 lines and 2 KiB,
// made valid UTF-8.
func (c *capped) lastLines() string {
	const maxBytes, maxLines = 2 << 10, 20
	head, tail, _ := c.parts()
	b := bytes.Join([][]byte{head, tail}, nil)
	if len(b) > maxBytes {
		b = trimToRunes(b[len(b)-maxBytes:], true, false)
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD")), "\n")
	return strings.Join(lines[max(0, len(lines)-maxLines):], "\n")
}
