package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Check reports what is malformed about a batch whatever a store holds: a
// mistake of the caller, never a state of the data. Every adapter calls it
// before it takes a batch up, so that all of them refuse the same ones.
func (b *Batch) Check() error {
	streams := make(map[string]bool, len(b.Appends))
	for i := range b.Appends {
		a := &b.Appends[i]
		if streams[a.Stream] {
			return fmt.Errorf("check batch: two appends to stream %q", a.Stream)
		}
		streams[a.Stream] = true
		if err := a.check(); err != nil {
			return fmt.Errorf("check append to stream %q: %w", a.Stream, err)
		}
	}
	for _, p := range b.Posts {
		if p.Stream == "" || p.ID == "" {
			return errors.New("check batch: a post needs a stream and an id")
		}
	}
	for _, k := range b.Keys {
		if k.Key == "" || k.Stream == "" {
			return errors.New("check batch: a key record needs a key and a stream")
		}
	}
	for _, s := range b.Spends {
		if s.Account == "" {
			return errors.New("check batch: a spend needs an account")
		}
	}
	for _, n := range b.Blobs {
		if n.Stream == "" {
			return errors.New("check batch: a blob needs a stream")
		}
		if n.ID != BlobID(n.Data) {
			return fmt.Errorf("check batch: blob %q is not named by its hash", n.ID)
		}
	}
	return nil
}

func (a *Append) check() error {
	switch {
	case a.Stream == "":
		return errors.New("it needs a name")
	case a.Create && a.Row == nil:
		return errors.New("create needs a listing row")
	case a.Create && a.Expect != 0:
		return errors.New("create expects sequence 0")
	case a.Create && a.Claim != nil:
		return errors.New("create and claim exclude each other")
	case a.Claim != nil && a.Claim.Stream() != a.Stream:
		return fmt.Errorf("the claim is of stream %q", a.Claim.Stream())
	case a.Row != nil && a.Row.ID != "" && a.Row.ID != a.Stream:
		return fmt.Errorf("the listing row has the id %q", a.Row.ID)
	}
	for i, e := range a.Events {
		if len(e) == 0 || bytes.IndexByte(e, '\n') >= 0 {
			return fmt.Errorf("event %d is empty or holds a line feed", i)
		}
	}
	taken := make(map[uint64]bool, len(a.TakeMail))
	for _, n := range a.TakeMail {
		if taken[n] {
			return fmt.Errorf("mail %d is taken twice", n)
		}
		taken[n] = true
	}
	return nil
}

// Check reports, in a [DamagedError], what keeps an extract from being a stream.
// Every adapter calls it before it restores one.
func (x *Extract) Check() error {
	last := uint64(0)
	if reason := x.wrong(&last); reason != "" {
		return &DamagedError{Stream: x.Stream, After: last, Reason: reason}
	}
	return nil
}

func (x *Extract) wrong(last *uint64) string {
	switch {
	case x.Stream == "":
		return "it has no name"
	case x.Row.ID != "" && x.Row.ID != x.Stream:
		return fmt.Sprintf("its listing row has the id %q", x.Row.ID)
	case x.Account != nil && x.Account.ID != x.Stream:
		return fmt.Sprintf("its account has the id %q", x.Account.ID)
	}
	for _, g := range x.Groups {
		if g.First != *last+1 || len(g.Events) == 0 {
			return fmt.Sprintf("the commit after event %d begins with event %d and has %d events", *last, g.First, len(g.Events))
		}
		for _, e := range g.Events {
			if len(e) == 0 || bytes.IndexByte(e, '\n') >= 0 {
				return fmt.Sprintf("event %d is empty or holds a line feed", *last+1)
			}
			*last++
		}
	}
	number, seen := uint64(0), make(map[string]bool, len(x.Mail))
	for _, m := range x.Mail {
		if m.Number <= number || m.ID == "" || seen[m.ID] {
			return fmt.Sprintf("mail %d (%q) does not follow on mail %d", m.Number, m.ID, number)
		}
		number, seen[m.ID] = m.Number, true
	}
	for _, b := range x.Blobs {
		if b.ID != BlobID(b.Data) {
			return fmt.Sprintf("blob %q is not named by its hash", b.ID)
		}
	}
	return ""
}

// Last is the sequence of the extract's last event.
func (x *Extract) Last() uint64 {
	if len(x.Groups) == 0 {
		return 0
	}
	g := x.Groups[len(x.Groups)-1]
	return g.First + uint64(len(g.Events)) - 1
}

// BlobID names a blob: the hex SHA-256 of its data.
func BlobID(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
