// Package sqlite keeps a store in one SQLite file, culm.db, that any number of
// processes of one machine use at once.
//
// # Files
//
//	culm.db            the data; `sqlite3 culm.db 'select * from events'` reads it
//	culm.db-wal, -shm  SQLite's write-ahead log and its index
//	locks/<owner>.lock one per process that owns streams, locked for its life
//	locks/claim-*.lock one per claim under way
//	locks/next, turn   the turnstile that writers pass in the order they came
//
// Directories have mode 0700, files 0600. Opening and reading make none of
// culm.db, locks or their directory: those come with the first commit that has
// something to store.
//
// # Durability
//
// The database runs in WAL mode with synchronous=FULL. Commits that queue while
// another one syncs share the next sync. An I/O error in a commit, or a COMMIT
// whose end is unclear, poisons the handle: what is on disk is then only known
// to whoever opens the file anew. A full disk or a foreign lock fails the
// commits at hand and nothing else.
//
// # Damage
//
// Each journal row carries a CRC-32C over the one before it, the stream's name,
// the sequence and the bytes; every other row one over its columns. Keys are
// stored twice, as they are and as a hash, so that a row whose key was damaged
// is found by the other and named, rather than taken for missing. A damaged row
// makes its stream damaged and leaves the others alone. Damage to pages is
// found by SQLite, by those sums, or, while the file is small, by a check of
// the whole file at the first read. What cannot be found: a flipped frame at the
// end of the write-ahead log looks like a tail that was never synced.
//
// # Keeping house
//
// [Store] is a [store.Keeper]. What it does to the database it does in small
// transactions, each in its turn with the commits of all processes. A database
// with damaged pages is opened for it by Options.Repair.
//
// # Platforms
//
// Linux and macOS; network file systems are refused, because flock and shared
// memory do not work across machines. The package switches the process-wide
// settings of modernc.org/sqlite to fdatasync and open-file-description locks.
package sqlite
