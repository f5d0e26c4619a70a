package file

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// Small files are one JSON object whose last member is a checksum of all bytes
// before it, so that every bit of them is covered: {...,"crc":"89abcdef"}.

const (
	sealStart = `,"crc":"`
	sealEnd   = `"}`
	sealSize  = len(sealStart) + 8 + len(sealEnd)
)

var (
	errSeal  = errors.New("its checksum does not match")
	errEmpty = errors.New("it is empty")
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// seal adds the checksum to an encoded object, and a line feed.
func seal(object []byte) []byte {
	body := object[:len(object)-1]
	sum := crc32.Checksum(body, castagnoli())
	out := append(body[:len(body):len(body)], sealStart...)
	out = appendHex(out, sum)
	return append(out, sealEnd+"\n"...)
}

// encodeSealed is seal of a value.
func encodeSealed(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return seal(bytes.TrimRight(b.Bytes(), "\n")), nil
}

// unseal gives the object without its checksum, verified.
func unseal(raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return nil, errEmpty
	}
	raw = bytes.TrimRight(raw, " \n")
	n := len(raw) - sealSize
	if n < 1 || string(raw[n:n+len(sealStart)]) != sealStart || string(raw[len(raw)-len(sealEnd):]) != sealEnd {
		return nil, errSeal
	}
	sum, ok := parseHex(raw[n+len(sealStart) : n+len(sealStart)+8])
	if !ok || crc32.Checksum(raw[:n], castagnoli()) != sum {
		return nil, errSeal
	}
	object := bytes.Clone(raw[:n+1])
	object[n] = '}'
	return object, nil
}

// decodeSealed is unseal into a value, strictly.
func decodeSealed(raw []byte, v any) error {
	object, err := unseal(raw)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("it does not decode: %w", err)
	}
	return nil
}

// appendHex appends a checksum as eight hexadecimal digits.
func appendHex(b []byte, sum uint32) []byte {
	return hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

func parseHex(b []byte) (uint32, bool) {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return 0, false
		}
	}
	sum, err := strconv.ParseUint(string(b), 16, 32)
	return uint32(sum), err == nil
}

const timeLayout = "2006-01-02T15:04:05.000000000Z"

// timeText is how times are stored: sortable, exact, readable; "" is no time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func parseTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return time.Parse(timeLayout, s)
}
