// Package effectlog is the log in which test tools record their side effects:
// the outside witness that crash tests hold journals against.
//
// It is one JSON object a line, appended with one write system call on a file
// opened with O_APPEND, so that any number of processes, and shell scripts with
// a plain `>>`, may write one log at a time, and a process that is killed leaves
// at most one torn line.
package effectlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Line is one effect: that a tool did what it does, once.
type Line struct {
	Run     string `json:"run"`
	Step    string `json:"step"` // full instance id
	Attempt int    `json:"attempt"`
	Key     string `json:"key,omitempty"`  // the call's idempotency key
	What    string `json:"what,omitempty"` // for people
	// At is when it happened. Scripts may leave it out, or write whole seconds.
	At time.Time `json:"at,omitzero"`
}

// Append adds one line to the log at path, which is made if it isn't there.
func Append(path string, l Line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("append effect: %w", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("append effect: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("append effect: %w", err)
	}
	return nil
}

// Read gives the lines of the log at path in the order in which they were
// written; none if there is no log. A last line without its line feed was torn
// by a kill and is left out, unless it is whole all the same.
func Read(path string) ([]Line, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read effects: %w", err)
	}
	var lines []Line
	for n := 1; len(data) > 0; n++ {
		text, rest, ended := bytes.Cut(data, []byte{'\n'})
		data = rest
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			if !ended {
				break
			}
			return nil, fmt.Errorf("read effects: %s:%d: %w", path, n, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}
