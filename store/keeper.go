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
	// commit boundaries. Nobody owns it, and it has no checkpoint. It holds others
	// up as long as a commit of its size does. [ErrExists] if there is one of its
	// name, or an account; an Extract that does not hold together (see
	// [Extract.Check]) is refused with a [DamagedError].
	Restore(ctx context.Context, x *Extract) error

	// Raw writes the stored bytes of a stream's journal as they are, without
	// verifying anything: the lines of each stored record, oldest first, with
	// whatever the store itself keeps in them. It is what is left of a stream whose
	// journal does not verify. [ErrNotFound].
	Raw(ctx context.Context, stream string, w io.Writer) error

	// Remove deletes a stream and everything that belongs to it: journal, mail,
	// checkpoint, blobs, listing row, the account of its name. Keys that name it
	// stay (see Forget). It is gone at once, and its space is given back in steps.
	// [ErrOwned] if a living process owns it or claims it; [ErrConflict] if it does
	// not end with the event last; [ErrNotFound]; [DamagedError].
	Remove(ctx context.Context, stream string, last uint64) error

	// Forget deletes the records of keys taken before a time whose stream is gone,
	// and returns how many.
	Forget(ctx context.Context, before time.Time) (int, error)

	// Compact finishes removals that a crash broke off, gives the space of what was
	// removed back to the file system, and returns how many bytes that was, as well
	// as is known.
	Compact(ctx context.Context) (int64, error)

	// Backup writes a consistent copy of the store to a path that does not exist
	// yet ([fs.ErrExist]), of the kind that a store of this adapter is opened by:
	// what was committed before it began is in it, and of every later commit all or
	// nothing. The copy has a generation of its own (see [Identity]). When it
	// returns, the copy is durable; when it fails, there is none. [ErrNotFound] if
	// nothing was ever stored; [errors.ErrUnsupported] if there is no such path.
	Backup(ctx context.Context, to string) error

	// Salvage copies every stream that reads to a new store of the same kind at a
	// path that does not exist yet, and tells report of each stream what became of
	// it. What verifies of a damaged one is there to be read, and the copy of it is
	// damaged too: it must not go on without what was lost.
	Salvage(ctx context.Context, to string, report func(Salvaged)) error

	// Examine reads the whole store, verifies it, and tells found of everything
	// that is wrong. It changes nothing. The error is for what kept it from looking.
	Examine(ctx context.Context, found func(Finding)) error

	// Identity says which store this is. Of one that nothing was ever stored in, it
	// has no generation.
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
	Stream string `json:"stream"`
	Events uint64 `json:"events"`           // how many were copied
	Damage string `json:"damage,omitempty"` // why not all of it, "" if it was whole
}

// Finding is one thing that is wrong with a store.
type Finding struct {
	Code    string // one of the Found constants
	Stream  string // "" if it is about no stream
	PID     int    // of the owner, with dead_owner and stopped_owner; 0 if unknown
	Message string
}

// Codes of findings. They are stable.
const (
	// FoundDamagedStream: what is stored of a stream does not verify.
	FoundDamagedStream = "damaged_stream"
	// FoundDamagedPage: the store's files are damaged whatever is in them.
	FoundDamagedPage = "damaged_page"
	// FoundDamagedRow: a record that belongs to no stream does not verify.
	FoundDamagedRow = "damaged_row"
	// FoundDeadOwner: the process that owned a stream is gone.
	FoundDeadOwner = "dead_owner"
	// FoundStoppedOwner: the process that owns a stream is stopped (SIGSTOP).
	FoundStoppedOwner = "stopped_owner"
	// FoundUnfinishedCommit: a crash left something that the next use completes.
	FoundUnfinishedCommit = "unfinished_commit"
	// FoundLeftoverFile: a file that nothing needs any more.
	FoundLeftoverFile = "leftover_file"
)

// Identity tells stores apart.
type Identity struct {
	// Generation is new for every store that is made, also by copying one:
	// whoever remembers another generation speaks with a restored backup.
	Generation string
	// Copied names the generation that this store was copied from by Backup or
	// Salvage, "" if it was not.
	Copied string
	// CopiedAt is when, and not before anything that was copied was created or
	// updated, so that what is older came with the copy whatever clocks did. Zero
	// if it was not copied.
	CopiedAt time.Time
	Format   int
	// Oldest is the oldest format that this version still reads.
	Oldest int
	// Size is how many bytes the store's files hold.
	Size int64
}
