// Package runfiles keeps runs as plain files, outside of any store: what culm
// export writes and culm import reads.
//
//	runs/<run_id>/journal.jsonl   the events, one a line
//	runs/<run_id>/export.json     listing row, epoch, account, mail, and where the journal ends
//	runs/<run_id>/snapshot.json   the state of the run, for people; nothing reads it back
//	runs/<run_id>/blobs/<sha256>  values that are kept beside the journal
//	runs/<run_id>/damaged/        of a damaged run: raw.jsonl, what was stored, and reason.txt
//	runs/<run_id>/manifest.json   size and SHA-256 of all the others
//
// The last event of each commit has one more member, the last of its line, in the
// journal file only:
//
//	,"_commit":{"first":11,"crc":"89abcdef"}}
//
// first is the sequence of the commit's first event, and crc the CRC-32C, in hex,
// over the checksum of the commit before it (0 for the first), the stream's name,
// first, and the commit's bytes: its events joined by line feeds, without that
// member. Numbers go into it as 64 bits in little endian, and texts and bytes
// after their length.
//
// Directories have mode 0700 and files 0600. A run's folder is made beside where
// it is to be and moved there when it is whole and durable.
package runfiles
