package store

import (
	"context"
	"io"
	"time"
)

// Keeper is what a store offers beside the port for keeping house: what the
// engine never needs and an operator does. The adapters of this module
// implement it on the same value as [Store]; housekeeping of a store that has no
// Keeper is refused. Methods are safe for concurrent use, also while this and
// other processes commit: each holds others up for no longer than one of its
// steps, a few milliseconds, takes.
type Keeper interface {
	// Extract returns everything that belongs to a stream, as one consistent look.
	// Of a damaged stream it returns what could be read, with a [DamagedError];
	// Raw gives the rest. [ErrNotFound] if there is no such stream.
	Extract(ctx context.Context, stream string) (*Extract, error)

	// Restore makes a stream as it was extracted, all or nothing, with the same
	// commit boundaries. Nobody owns it. [ErrExists] if there is one of its name;
	// an Extract that does not hold together is refused with a [DamagedError].
	Restore(ctx context.Context, x *Extract) error

	// Raw writes the stored bytes of a stream's journal as they are, without
	// verifying anything: one line for each stored record, oldest first. It is
	// what is left of a stream whose journal does not verify.
	Raw(ctx context.Context, stream string, w io.Writer) error

	// Remove deletes a stream and everything that belongs to it: journal, mail,
	// checkpoint, blobs, listing row, the account of its name. Keys that name it
	// stay (see Forget). [ErrOwned] if a living process owns it; [ErrConflict] if
	// it does not end with the event last; [ErrNotFound].
	Remove(ctx context.Context, stream string, last uint64) error

	// Forget deletes the records of keys taken before a time whose stream is gone,
	// and returns how many.
	Forget(ctx context.Context, before time.Time) (int, error)

	// Compact gives the space of what was removed back to the file system and
	// returns how many bytes that was, as well as is known.
	Compact(ctx context.Context) (int64, error)

	// Backup writes a consistent copy of the store to a path that does not exist
	// yet: what was committed before it began is in it, and of every later commit
	// all or nothing. The copy has a generation of its own (see [Identity]). When
	// it returns, the copy is durable.
	Backup(ctx context.Context, to string) error

	// Salvage copies every stream that reads to a new store of the same kind at a
	// path that does not exist yet, what verifies of a damaged one included, and
	// tells report of each stream what became of it.
	Salvage(ctx context.Context, to string, report func(Salvaged)) error

	// Examine reads the whole store, verifies it, and tells found of everything
	// that is wrong. It changes nothing.
	Examine(ctx context.Context, found func(Finding)) error

	// Identity says which store this is.
	Identity(ctx context.Context) (Identity, error)
}

// Extract is a stream outside of its store.
type Extract struct {
	Stream  string
	Groups  []Group // the journal, with its commit boundaries
	Row     Row
	Epoch   uint64    // of the last owner
	Mail    []Mail    // posted and not taken
	Account *Account  // the account of the stream's name, if there is one
	Blobs   []NewBlob // Stream is empty in them
}

// Salvaged is what Salvage did with one stream.
type Salvaged struct {
	Stream string
	Events uint64 // how many were copied
	Damage string // why not all of it, "" if it was whole
}

// Finding is one thing that is wrong with a store.
type Finding struct {
	// Code is stable: "damaged_stream", "damaged_page", "damaged_row",
	// "dead_owner", "stopped_owner", "unfinished_commit", "leftover_file".
	Code    string
	Stream  string // "" if it is about no stream
	PID     int    // of the owner, with dead_owner and stopped_owner; 0 if unknown
	Message string
}

// Identity tells stores apart.
type Identity struct {
	// Generation is new for every store that is made, also by copying one:
	// whoever remembers another generation speaks with a restored backup.
	Generation string
	// Copied names the generation that this store was copied from by Backup or
	// Salvage, "" if it was not.
	Copied string
	// CopiedAt is when; zero if it was not.
	CopiedAt time.Time
	Format   int
	// Oldest is the oldest format that this version still reads.
	Oldest int
	// Size is how many bytes the store's files hold.
	Size int64
}
