package file

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// paths are the places of one store. What belongs to it is named by paths
// relative to dir, with slashes, as the redo log has them.
type paths struct {
	dir   string
	locks string // the folder of lock files
}

// Names in a store's folder, and in that of a stream.
const (
	formatFile   = "format.json"
	runsDir      = "runs"
	keysDir      = "keys"
	accountsDir  = "accounts"
	stagedDir    = "staged"
	logDir       = "log"
	redoFile     = "log/redo"
	appliedFile  = "log/applied"
	journalFile  = "journal.jsonl"
	headFile     = "head.json"
	snapshotFile = "snapshot.json"
	seenFile     = "seen.jsonl"
	blobsDir     = "blobs"
	mailDir      = "mail"
)

func newPaths(dir string) (paths, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return paths{}, fmt.Errorf("find folder: %w", err)
	}
	return paths{dir: abs, locks: filepath.Join(abs, "locks")}, nil
}

// at is a place in the store.
func (p paths) at(rel string) string { return filepath.Join(p.dir, filepath.FromSlash(rel)) }

// streamDir is the folder of a stream.
func streamDir(stream string) string { return runsDir + "/" + escape(stream) }

// inStream is a place in the folder of a stream.
func inStream(stream, name string) string { return streamDir(stream) + "/" + name }

// streamOf is the escaped name of the stream that a place belongs to, "" for none.
func streamOf(rel string) string {
	rest, ok := strings.CutPrefix(rel, runsDir+"/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func accountPath(account string) string { return accountsDir + "/" + escape(account) + ".json" }

func keyPath(scope, key string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s%s", len(scope), scope, key)
	return keysDir + "/" + hex.EncodeToString(h.Sum(nil)) + ".json"
}

func mailPath(stream string, number uint64) string {
	return inStream(stream, fmt.Sprintf("%s/%020d.json", mailDir, number))
}

func blobPath(stream, id string) string { return inStream(stream, blobsDir+"/"+id) }

// validBlobID keeps what is no hash from being used as a file name.
func validBlobID(id string) bool {
	return len(id) == 2*sha256.Size && strings.Trim(id, "0123456789abcdef") == ""
}

// longestName is how long an escaped name may be; file systems take 255 bytes.
const longestName = 200

// escape makes a file name of any name: small letters, digits, dash and underscore
// stand for themselves, so that run ids can be read and no two names differ only in
// case; all else is %XX. A name that gets too long is named by its hash.
func escape(name string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	if b.Len() > longestName {
		sum := sha256.Sum256([]byte(name))
		return "~" + hex.EncodeToString(sum[:])
	}
	return b.String()
}

// unescape is the name that a file name stands for; false if it is none, or that of
// a hash.
func unescape(file string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(file); i++ {
		if file[i] != '%' {
			b.WriteByte(file[i])
			continue
		}
		if i+2 >= len(file) {
			return "", false
		}
		c, err := hex.DecodeString(file[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.WriteByte(c[0])
		i += 2
	}
	return b.String(), escape(b.String()) == file
}
