//go:build unix

package proc

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"
)

// A guard is a small process between an owner and the program that a tool runs:
//
//	owner --life pipe--> guard --fork--> program and all that it starts
//	owner <-report pipe- guard
//
// The owner writes one request into the life pipe and keeps it open. Its end of
// file means that the owner is gone, however it died, and the guard then ends the
// whole tree; a byte behind the request asks for the same. What happened travels
// back as reports, so that nothing about a start or an end is guessed. The report
// pipe ends when the tree is gone; if it ends without a last word about the
// program, the guard was killed and the outcome is unknown.

// GuardArg is the hidden first argument that makes the culm binary a guard.
const GuardArg = "__guard"

const (
	guardVersion  = 1
	guardLifeFD   = 3
	guardReportFD = 4
	// maxGuardRequest bounds what a guard reads, in bytes. Systems allow arguments
	// and environment of about 2 MiB.
	maxGuardRequest = 64 << 20
)

// How long the parts of a tree get, in real time.
const (
	// cancelGrace is between SIGTERM and SIGKILL when the call is cancelled.
	cancelGrace = 2 * time.Second
	// orphanGrace is the same after the owner's death: all is gone within 2 s.
	orphanGrace = time.Second
	// leftoverPatience is how long processes that outlive the program may finish
	// by themselves: in `cmd > >(tee log)` the tee is still writing.
	leftoverPatience = time.Second
	// sweepInterval is how often a tree is looked at while it is being ended.
	sweepInterval = 20 * time.Millisecond
)

// guardRequest says what to run. It travels as gob behind its length, because
// arguments, paths and variables may hold any byte.
type guardRequest struct {
	Version  int
	Path     string
	Argv     []string
	Env      []string
	Dir      string
	LockPath string
}

// A guardReport is one thing that happened, in this order.
type guardReport struct {
	Kind reportKind
	// Value is the pid, the exit code or the signal's number.
	Value int
	// Message says why nothing was started.
	Message string
	// Held says that the step lock was the reason.
	Held bool
}

type reportKind string

const (
	reportReady    reportKind = "ready"    // the lock is held, the program is about to be started
	reportRefused  reportKind = "refused"  // nothing was started, nor will be
	reportStarted  reportKind = "started"  // it runs, as the leader of its process group
	reportExited   reportKind = "exited"   // it ended by itself
	reportSignaled reportKind = "signaled" // a signal ended it
)

// final tells whether nothing more can come of the program.
func (r guardReport) final() bool {
	return r.Kind == reportRefused || r.Kind == reportExited || r.Kind == reportSignaled
}

func writeGuardRequest(w io.Writer, q guardRequest) error {
	buf := bytes.NewBuffer(make([]byte, 4))
	if err := gob.NewEncoder(buf).Encode(q); err != nil {
		return fmt.Errorf("encode guard request: %w", err)
	}
	b := buf.Bytes()
	if len(b) > maxGuardRequest {
		return fmt.Errorf("arguments and environment have %d bytes, at most %d are possible", len(b), maxGuardRequest)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write guard request: %w", err)
	}
	return nil
}

// readGuardRequest reads the request and no byte behind it.
func readGuardRequest(r io.Reader) (guardRequest, error) {
	var q guardRequest
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return q, fmt.Errorf("read guard request: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxGuardRequest {
		return q, errors.New("read guard request: it is too long")
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return q, fmt.Errorf("read guard request: %w", err)
	}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&q); err != nil {
		return q, fmt.Errorf("decode guard request: %w", err)
	}
	if q.Version != guardVersion {
		return q, fmt.Errorf("the guard speaks protocol %d, its owner %d: the culm binary was replaced while it ran, start it again", guardVersion, q.Version)
	}
	return q, nil
}
