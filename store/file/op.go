package file

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"path/filepath"
)

// op is one thing that a commit does to a file. Done again it changes nothing, so
// that whoever finds a commit half applied applies it all.
type op struct {
	kind opKind
	path string // relative to the store's folder
	// data is what opWrite and opPut write; at is where opWrite does.
	data []byte
	at   int64
	from string // of opMove
}

type opKind byte

const (
	opWrite  opKind = iota + 1 // data from at on, where the file then ends
	opPut                      // data is the whole content
	opRemove                   // the file, if it is there
	opMove                     // the file or folder from, which is synced, gets the name path
)

// appendOps encodes operations.
func appendOps(b []byte, ops []op) []byte {
	b = binary.AppendUvarint(b, uint64(len(ops)))
	for i := range ops {
		o := &ops[i]
		b = append(b, byte(o.kind))
		b = appendBytes(b, o.path)
		switch o.kind {
		case opWrite:
			b = binary.AppendUvarint(b, uint64(o.at))
			b = appendBytes(b, o.data)
		case opPut:
			b = appendBytes(b, o.data)
		case opMove:
			b = appendBytes(b, o.from)
		}
	}
	return b
}

func appendBytes[T ~string | ~[]byte](b []byte, v T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

// settles tells whether operations must not be done again once others follow: they
// give or take the folder of a stream. The log begins anew with them.
func settles(ops []op) bool {
	for i := range ops {
		o := &ops[i]
		if o.kind == opMove && (path.Dir(o.path) == runsDir || path.Dir(o.from) == runsDir) {
			return true
		}
	}
	return false
}

var errOps = errors.New("its operations do not decode")

// decodeOps is the inverse of appendOps. Data shares b's memory.
func decodeOps(b []byte) ([]op, error) {
	r := opReader{b: b}
	n := r.number()
	if n > uint64(len(b)) {
		return nil, errOps
	}
	ops := make([]op, 0, n)
	for range n {
		o := op{kind: opKind(r.byte()), path: string(r.bytes())}
		switch o.kind {
		case opWrite:
			o.at = int64(r.number())
			o.data = r.bytes()
		case opPut:
			o.data = r.bytes()
		case opMove:
			o.from = string(r.bytes())
		case opRemove:
		default:
			return nil, fmt.Errorf("%w: kind %d", errOps, o.kind)
		}
		if r.bad || o.at < 0 || !filepath.IsLocal(o.path) || o.kind == opMove && !filepath.IsLocal(o.from) {
			return nil, errOps
		}
		ops = append(ops, o)
	}
	if len(r.b) > 0 {
		return nil, errOps
	}
	return ops, nil
}

// opReader reads what appendOps wrote and remembers whether it could not.
type opReader struct {
	b   []byte
	bad bool
}

func (r *opReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *opReader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *opReader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}
