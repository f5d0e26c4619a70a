// Package file keeps a store in plain files of one folder, that any number of
// processes of one machine use at once.
//
// # Files
//
//	format.json                    the format, and the store's generation
//	runs/<stream>/journal.jsonl    the events, one a line; only ever appended to
//	runs/<stream>/head.json        length, owner, mail counters, listing row, account
//	runs/<stream>/snapshot.json    the checkpoint
//	runs/<stream>/blobs/<sha256>   values beside the journal
//	runs/<stream>/mail/<n>.json    one message that waits
//	runs/<stream>/seen.jsonl       the ids of all messages that ever came
//	accounts/, keys/               accounts of no stream; unique keys
//	log/redo, log/applied          the redo log, and how far it was applied
//	staged/                        large values on their way; folders made ahead
//	locks/<owner>.lock             one per process that owns streams, locked for its life
//	locks/next, turn               the turnstile that writers pass in the order they came
//	locks/open                     locked, shared, by every process that has the store open
//	locks/trim                     held while the redo log is shortened, or copied
//
// Directories have mode 0700, files 0600. Opening makes nothing: the folder comes with
// the first commit that has something to store.
//
// # Durability
//
// A group of commits is one record in the redo log, which all processes share: what it
// does to which files, as bytes. The record is written and synced, once; then the files
// are written, without a sync, and the commit returns. A process that dies in between
// leaves a record that is synced and not applied: whoever writes next, or reads, applies
// it. When the log has grown, the files are synced beside the commits, and the log
// begins anew. The first process to open the store after all others died does the whole
// log again where the files do not show it: perhaps the machine died, too.
//
// An I/O error in a commit poisons the handle. A full disk fails the commits at hand and
// nothing else.
//
// # Reading
//
// Readers take no lock. Every file verifies by itself (head, mail, key) or by a chain of
// checksums (journal) whose end the head holds, so that a look during a commit shows and
// is repeated.
//
// # Damage
//
// A file that was cut or flipped makes its stream damaged and leaves the others alone. A
// snapshot that is missing, torn or old is no damage: the journal decides. One that is
// ahead of the journal, or of other content than the head says, contradicts it. What
// follows the journal's end is ignored, unless it is a commit that belongs there. A redo
// log that is shorter than what was applied of it is refused.
//
// # Platforms
//
// Linux and macOS; network file systems are refused, because flock does not work across
// machines.
package file
