package sqlite

// format is the version of the schema and of what its columns mean. A database
// with a greater one is refused.
const format = 1

// schema of format 1. Times are text, RFC 3339 in UTC with nine digits of
// nanoseconds, so that they sort; "" is no time. tag columns are hashes of a
// row's key (see tag), crc columns sums over the whole row.
const schema = `
CREATE TABLE meta (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	format     INTEGER NOT NULL,
	generation TEXT NOT NULL,
	crc        INTEGER NOT NULL
) STRICT;

CREATE TABLE streams (
	id            INTEGER PRIMARY KEY,
	name          TEXT NOT NULL,
	tag           INTEGER NOT NULL,
	last          INTEGER NOT NULL, -- sequence of the last event
	chain         INTEGER NOT NULL, -- crc of the last commit
	owner         TEXT NOT NULL,    -- "" for nobody
	epoch         INTEGER NOT NULL,
	checkpoint_at INTEGER NOT NULL, -- -1 without a checkpoint
	mail_last     INTEGER NOT NULL, -- number of the last mail posted
	mail_waiting  INTEGER NOT NULL, -- how many were not taken yet
	kind          TEXT NOT NULL,
	status        TEXT NOT NULL,
	workflow      TEXT NOT NULL,
	session       TEXT NOT NULL,
	labels        TEXT NOT NULL,    -- a JSON object
	in_doubt      INTEGER NOT NULL,
	wake_at       TEXT NOT NULL,
	created       TEXT NOT NULL,
	updated       TEXT NOT NULL,
	suspension    TEXT NOT NULL,
	crc           INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX streams_name ON streams (name);
CREATE INDEX streams_tag ON streams (tag);
CREATE INDEX streams_created ON streams (created, name);
CREATE INDEX streams_status ON streams (status, created, name);
CREATE INDEX streams_owner ON streams (owner) WHERE owner <> '';
CREATE INDEX streams_in_doubt ON streams (created, name) WHERE in_doubt <> 0;

-- The journal of all streams, in the order of the commits, only ever appended to.
CREATE TABLE commits (
	id     INTEGER PRIMARY KEY,
	stream INTEGER NOT NULL,
	first  INTEGER NOT NULL, -- sequence of the first event
	events TEXT NOT NULL,    -- JSON objects, one a line
	crc    INTEGER NOT NULL
) STRICT;

-- Where a stream's commits are, for those up to commits_indexed.upto. Entries are
-- made for many commits at a time, which spares each of them a page.
CREATE TABLE commits_index (
	stream INTEGER NOT NULL,
	first  INTEGER NOT NULL,
	id     INTEGER NOT NULL,
	PRIMARY KEY (stream, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE commits_indexed (
	id   INTEGER PRIMARY KEY CHECK (id = 1),
	upto INTEGER NOT NULL, -- greatest commits.id that the index covers
	crc  INTEGER NOT NULL
) STRICT;

CREATE TABLE mail (
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	stream  INTEGER NOT NULL,
	number  INTEGER NOT NULL,
	message TEXT NOT NULL,
	body    BLOB NOT NULL,
	at      TEXT NOT NULL,
	crc     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX mail_number ON mail (stream, number);

CREATE TABLE seen_mail (
	id      INTEGER PRIMARY KEY,
	stream  INTEGER NOT NULL,
	message TEXT NOT NULL,
	tag     INTEGER NOT NULL,
	hash    BLOB NOT NULL, -- SHA-256 of the body
	crc     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX seen_mail_message ON seen_mail (stream, message);
CREATE INDEX seen_mail_tag ON seen_mail (tag);

CREATE TABLE accounts (
	id     INTEGER PRIMARY KEY,
	name   TEXT NOT NULL,
	tag    INTEGER NOT NULL,
	spent  TEXT NOT NULL, -- JSON objects of unit to amount
	limits TEXT NOT NULL,
	crc    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX accounts_name ON accounts (name);
CREATE INDEX accounts_tag ON accounts (tag);

CREATE TABLE keys (
	id     INTEGER PRIMARY KEY,
	scope  TEXT NOT NULL,
	key    TEXT NOT NULL,
	tag    INTEGER NOT NULL,
	hash   TEXT NOT NULL,
	stream TEXT NOT NULL,
	at     TEXT NOT NULL,
	crc    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX keys_key ON keys (scope, key);
CREATE INDEX keys_tag ON keys (tag);

CREATE TABLE blobs (
	id     INTEGER PRIMARY KEY,
	stream INTEGER NOT NULL,
	hash   TEXT NOT NULL, -- hex SHA-256 of data
	tag    INTEGER NOT NULL,
	data   BLOB NOT NULL,
	crc    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX blobs_hash ON blobs (stream, hash);
CREATE INDEX blobs_tag ON blobs (tag);

CREATE TABLE checkpoints (
	stream INTEGER PRIMARY KEY,
	at     INTEGER NOT NULL,
	data   BLOB NOT NULL,
	crc    INTEGER NOT NULL
) STRICT;

CREATE VIEW events AS
	SELECT s.name AS stream, c.first + e.key AS sequence,
	       e.value ->> '$.type' AS type, e.value ->> '$.at' AS at, e.value AS json
	FROM commits c
	JOIN streams s ON s.id = c.stream
	JOIN json_each('[' || replace(c.events, char(10), ',') || ']') e;
`

// copySchema is a table that only copies have. Versions that do not know of it
// read a copy all the same, so that it needs no new format.
const copySchema = `
CREATE TABLE copied (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	generation TEXT NOT NULL, -- that this file was copied from
	at         TEXT NOT NULL,
	crc        INTEGER NOT NULL
) STRICT;
`
