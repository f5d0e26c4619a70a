// Package store is the port through which Culm keeps everything durable:
// streams of events, mailboxes, accounts, unique keys and blobs.
//
// A stream is one append-only, gap-free sequence of events, numbered from 1,
// with at most one owner at a time. A root run and everything it nests are one
// stream. Only the owner appends; anyone else posts to the stream's mailbox.
//
// Everything goes through [Store.Commit], which is all or nothing and returns
// only when what it took is durable. Nothing is shown to any reader, in this
// process or another, before Commit returned success.
//
// A [Store] value is one process's handle. Its adapters live in the folders
// below (memory, sqlite, ...) and all pass the one suite in storetest.
// All methods are safe for concurrent use.
package store

import (
	"context"
	"time"
)

// Store is one process's handle on a durable store.
type Store interface {
	// Commit makes the whole batch durable, or nothing of it.
	//
	// The context bounds only the wait for the batch to be taken up: once the
	// store has begun with it, a caller that goes away does not stop it, and
	// Commit returns the true result. Committing the same Append again after a
	// lost reply (same stream, same Expect, same event bytes, already the
	// journal's next bytes) is recognised by its events, whoever owns the stream
	// by then, and is no error; what else the batch holds is not done again.
	//
	// Errors: [ErrConflict] a wrong Expect; [ErrNotOwner] another owner or
	// epoch; [ErrMailWaiting]; [ErrExists] a stream that exists or a key that
	// is taken (with the record found in a [KeyTakenError]); [ErrMailConflict];
	// [BudgetError]; [ErrNotFound]; [DamagedError]; [ErrTryAgain];
	// [ErrPoisoned], after which this handle owns nothing any more.
	Commit(ctx context.Context, b *Batch) error

	// Read returns committed groups of events of a stream whose events have
	// sequences greater than after, oldest first, in at most about maxBytes
	// bytes (at least one group when there is one). The checksum chain of what is
	// returned is verified: reading from 0 verifies the whole journal, and a
	// read that reaches the end compares it with the stream's head. A damaged
	// stream returns the verified groups before the damage with a [DamagedError].
	Read(ctx context.Context, stream string, after uint64, maxBytes int) ([]Group, error)

	// Head returns one consistent look at a stream: its length, owner, latest
	// checkpoint and listing row. [ErrNotFound] if there is no such stream. Of a
	// stream whose head or checkpoint does not verify it returns what could be
	// read, with a [DamagedError].
	Head(ctx context.Context, stream string) (Head, error)

	// Blob returns a blob of a stream, its hash verified ([DamagedError] if not,
	// [ErrNotFound] if there is none).
	Blob(ctx context.Context, stream, id string) ([]byte, error)

	// Claim prepares to own a stream that nobody alive owns: it holds what must
	// be held so that no other claim of it can succeed (on one machine: the dead
	// owner's lock), and writes nothing. The claim takes effect when an [Append]
	// that carries it commits; [Claim.Close] lets go of a claim, used or not, and
	// must always be called. [ErrOwned] if a living process owns it or claims it.
	// A stream that this handle owns already gives [ErrOwned] too.
	Claim(ctx context.Context, stream string) (Claim, error)

	// Mail returns the stream's mail with numbers greater than after that was
	// posted and not yet taken, oldest first. [ErrNotFound] if there is no such
	// stream, [DamagedError] if the mailbox does not verify.
	Mail(ctx context.Context, stream string, after uint64) ([]Mail, error)

	// Account returns what an account has spent, with its limits. [ErrNotFound]
	// if nothing made it.
	Account(ctx context.Context, id string) (Account, error)

	// Key looks a unique key up. [ErrNotFound] if it is free.
	Key(ctx context.Context, scope, key string) (KeyRecord, error)

	// List returns one page of listing rows, newest first.
	List(ctx context.Context, q Query) (Page, error)

	// Watch returns a channel that is signalled (capacity 1, signals coalesce)
	// after the stream's journal or mailbox changed, by any process: at once for
	// this process's commits, within 250 ms for others'. It may signal without
	// cause. stop releases it; the channel is never closed.
	Watch(stream string) (changed <-chan struct{}, stop func())

	// Owner is this handle's own id, as Head and List give it for what it owns.
	Owner() string

	// Close waits for commits under way and releases everything, among it this
	// handle's ownership: streams that it owned have a dead owner from then on.
	Close() error
}

// Batch is what one Commit takes. Streams in one batch are distinct.
type Batch struct {
	Appends []Append
	Posts   []Post
	Keys    []KeyRecord
	Spends  []Spend
	Blobs   []NewBlob
}

// Append adds events to one stream. An Append without events is allowed if it
// carries something else (a claim's release, a row).
type Append struct {
	Stream string
	// Expect is the stream's last sequence before this append; 0 with Create.
	Expect uint64
	// Create makes the stream, owned by this handle; ErrExists if it is there.
	// Row must be set.
	Create bool
	// Claim takes the stream over in this commit (compare-and-set of owner and
	// epoch). Without Create or Claim this handle must be the owner: the store
	// compares its own identity and the epoch it knows.
	Claim Claim
	// Events are the encoded events, one JSON object each, without line feeds.
	Events [][]byte
	// TakeMail removes this mail, by number; numbers already taken are an error
	// (ErrConflict), so that no mail is moved twice.
	TakeMail []uint64
	// IfNoMailAfter, when not nil, refuses the batch with ErrMailWaiting if the
	// mailbox holds anything with a greater number.
	IfNoMailAfter *uint64
	// Row, when not nil, replaces the listing row.
	Row *Row
	// Checkpoint, when not nil, replaces the stream's checkpoint; it folds
	// exactly the events up to the end of this append.
	Checkpoint []byte
	// Release gives the ownership up in this commit.
	Release bool
}

// Group is what one Append committed: the commit boundary is part of the
// journal, so that an outside checker can see what shared a commit.
type Group struct {
	First  uint64 // sequence of Events[0]
	Events [][]byte
}

// Head is one look at a stream.
type Head struct {
	Stream     string
	Last       uint64 // sequence of the last event
	Owner      Owner  // zero if nobody owns it
	Row        Row
	Checkpoint []byte // nil if there is none
	// CheckpointAt is the sequence that the checkpoint folds up to.
	CheckpointAt uint64
	// Damaged is the reason if the store already knows that the stream is
	// damaged; its journal may be damaged all the same when this is empty.
	Damaged string
}

// Owner says who may append to a stream.
type Owner struct {
	ID    string // the owning handle, "" for nobody
	Epoch uint64 // grows by one at every taking over
	Alive bool   // whether that handle's process lives now, told by an OS lock
	Self  bool   // whether it is this handle
	PID   int    // for people only, never decided on; 0 if unknown
}

// Claim is a prepared taking over; see Store.Claim.
type Claim interface {
	// Stream is what is claimed.
	Stream() string
	// Close releases what the claim holds. After a commit used it, the stream
	// stays owned by the handle. Close is idempotent.
	Close()
}

// Post puts one message in a stream's mailbox. Posting the same id again is no
// error if the body is the same, even after the mail was taken; with another
// body it is ErrMailConflict. The stream must exist.
type Post struct {
	Stream string
	ID     string
	Body   []byte
}

// Mail is one message in a mailbox.
type Mail struct {
	Number uint64 // grows with each post to the stream's mailbox; not gap-free
	ID     string
	Body   []byte
	At     time.Time
}

// KeyRecord is a unique key, for example of an idempotent start.
type KeyRecord struct {
	Scope, Key string
	// Hash tells a repeated request from another one under the same key.
	Hash   string
	Stream string
	At     time.Time
}

// Account holds spends of one budget; shared by all streams that name it.
type Account struct {
	ID     string
	Spent  map[string]int64
	Limits map[string]int64 // a unit without a limit is unlimited
}

// Spend books amounts on an account inside a commit; a batch that would take
// any unit past its limit is refused whole with a BudgetError.
type Spend struct {
	Account string
	Amounts map[string]int64 // by unit; negative gives back
	// Limits, when not nil, sets the account's limits (and makes it if needed)
	// before the amounts are booked.
	Limits map[string]int64
}

// NewBlob is a value kept beside the journal. ID is the hex SHA-256 of Data;
// writing one that is there already is no error.
type NewBlob struct {
	Stream string
	ID     string
	Data   []byte
}

// Row is what listings show of a stream without reading its journal.
type Row struct {
	ID         string // the stream's name; may be left empty in an Append
	Kind       string // "run"
	Status     string
	Workflow   string // "<id>@<revision>"
	Session    string
	Labels     map[string]string
	InDoubt    bool
	WakeAt     time.Time // when something falls due; zero for never
	Created    time.Time
	Updated    time.Time
	Suspension string // kind, while suspended
}

// Query filters a listing; zero fields match everything.
type Query struct {
	Kind     string
	Status   []string
	Workflow string // "<id>" or "<id>@<revision>"
	Session  string
	Labels   map[string]string
	InDoubt  bool      // only those with InDoubt set
	Since    time.Time // created at or after
	IDPrefix string
	IDSuffix string
	Limit    int    // default 50, at most 1000
	Cursor   string // Page.Next of the page before
}

// Page is one page of a listing.
type Page struct {
	Rows []Listed
	Next string // "" when there are no more
}

// Listed is a row with the truth about its owner at the time of listing.
type Listed struct {
	Row
	Last    uint64
	Owner   Owner
	Damaged string // reason, when the row itself or its head does not verify
}
