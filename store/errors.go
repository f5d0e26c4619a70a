package store

import (
	"errors"
	"fmt"
)

// Errors of a store. Adapters wrap them with context; callers use errors.Is.
var (
	// ErrNotFound: there is no such stream, blob or key.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the stream is not at the expected sequence.
	ErrConflict = errors.New("sequence conflict")
	// ErrExists: the stream exists already.
	ErrExists = errors.New("already exists")
	// ErrNotOwner: this handle does not own the stream, or no longer.
	ErrNotOwner = errors.New("not the owner")
	// ErrOwned: a living process owns the stream, or is taking it over.
	ErrOwned = errors.New("owned elsewhere")
	// ErrMailWaiting: the mailbox holds mail that the committer has not seen.
	ErrMailWaiting = errors.New("mail is waiting")
	// ErrMailConflict: another message was posted under the same id.
	ErrMailConflict = errors.New("another message has this id")
	// ErrTryAgain: nothing was committed, and the same batch may be taken later:
	// the disk is full, or a foreign program holds the database.
	ErrTryAgain = errors.New("nothing was committed; try again later")
	// ErrPoisoned: an earlier commit had an unclear end (an I/O error); this
	// handle acknowledges nothing any more. Open a new one.
	ErrPoisoned = errors.New("store handle is poisoned by an earlier I/O error")
	// ErrNewerFormat: the data was written by a newer version.
	ErrNewerFormat = errors.New("newer format")
	// ErrClosed: the handle was closed.
	ErrClosed = errors.New("store is closed")
)

// DamagedError says that a stream's stored bytes are not what was committed.
type DamagedError struct {
	Stream string
	After  uint64 // events up to this sequence verified
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("stream %s is damaged after event %d: %s", e.Stream, e.After, e.Reason)
}

// KeyTakenError says that a unique key is taken, and by what. It matches ErrExists.
type KeyTakenError struct{ Record KeyRecord }

func (e *KeyTakenError) Error() string {
	return fmt.Sprintf("key %q is taken by stream %s", e.Record.Key, e.Record.Stream)
}
func (e *KeyTakenError) Is(target error) bool { return target == ErrExists }

// BudgetError says that a spend did not fit.
type BudgetError struct {
	Account, Unit        string
	Limit, Spent, Amount int64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("account %s: %s: %d spent of %d, %d more do not fit", e.Account, e.Unit, e.Spent, e.Limit, e.Amount)
}
