package sample

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/culm-dev/culm"
	"github.com/culm-dev/culm/run"
	"github.com/culm-dev/culm/store"
)

// IDs are the ids of a sample's runs, by name.
func IDs(ctx context.Context, e *culm.Engine) (map[string]string, error) {
	page, err := e.List(ctx, store.Query{Limit: 1000})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	ids := make(map[string]string)
	for _, r := range page.Runs {
		ids[r.Labels[Label]] = r.RunID
	}
	return ids, nil
}

// Seen is what a version shows of a run: its line of the list, and itself with all
// values, as JSON.
type Seen struct {
	Run    string `json:"run"` // its name
	Listed any    `json:"listed"`
	View   any    `json:"view"`
}

// Look gives what is shown of each run of a sample, by name. Texts that are long are
// given by their hashes.
func Look(ctx context.Context, e *culm.Engine) (map[string]Seen, error) {
	page, err := e.List(ctx, store.Query{Limit: 1000})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	seen := make(map[string]Seen)
	for _, r := range page.Runs {
		view, err := e.Progress(ctx, r.RunID, culm.ProgressOptions{Values: true, Session: culm.AnySession})
		if err != nil {
			return nil, fmt.Errorf("look at run %s: %w", r.Labels[Label], err)
		}
		s, err := seenOf(r, view)
		if err != nil {
			return nil, fmt.Errorf("look at run %s: %w", r.Labels[Label], err)
		}
		seen[r.Labels[Label]] = s
	}
	return seen, nil
}

func seenOf(r culm.Summary, v *run.View) (s Seen, err error) {
	s.Run = r.Labels[Label]
	if s.Listed, err = Plain(r); err == nil {
		s.View, err = Plain(v)
	}
	return s, err
}

// longest is how many bytes a text may have to be given as it is.
const longest = 200

// Plain is a value as a program reads it: of maps, lists, texts and numbers. Texts
// that are long are given by their hashes.
func Plain(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&plain); err != nil {
		return nil, err
	}
	return shorten(plain), nil
}

func shorten(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = shorten(v[k])
		}
	case []any:
		for i := range v {
			v[i] = shorten(v[i])
		}
	case string:
		if len(v) > longest {
			return fmt.Sprintf("%d bytes, SHA-256 %x", len(v), sha256.Sum256([]byte(v)))
		}
	}
	return v
}
