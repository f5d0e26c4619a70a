package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// rights looks at the modes of what a store keeps: arguments and outputs are
// nobody's business but their owner's. The folder itself may hold other things,
// such as a project; then its mode is no business of ours.
func (x *examination) rights() error {
	if x.p.Folder == "" {
		return nil
	}
	entries, err := os.ReadDir(x.p.Folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // nothing was stored yet
	case errors.Is(err, fs.ErrPermission):
		x.unreadable(x.p.Folder)
		return nil
	case err != nil:
		return fmt.Errorf("look at rights: %w", err)
	}
	var open []string // what others may read
	var mend []Line
	foreign := false
	for _, e := range entries {
		if foreign = foreign || !ours(e.Name()); !ours(e.Name()) {
			continue
		}
		name := filepath.Join(x.p.Folder, e.Name())
		found, err := x.openBelow(name)
		if err != nil {
			return fmt.Errorf("look at rights: %w", err)
		}
		if open = append(open, found...); len(found) > 0 {
			mend = append(mend, typed("chmod -R go-rwx "+quoted(name), ""))
		}
	}
	if info, err := os.Stat(x.p.Folder); err == nil && !foreign && len(entries) > 0 && isOpen(info) {
		open = append([]string{described(x.p.Folder, info)}, open...)
		mend = append([]Line{typed("chmod 700 "+quoted(x.p.Folder), "")}, mend...)
	}
	if len(open) > 0 {
		x.found(Finding{
			Code: CodeWrongRights, Level: Problem, Path: x.p.Folder,
			Message: "others may read or write what is stored: " + some(open, 3),
			Meaning: "arguments, outputs and logs of runs can be seen, or changed, by other users of this machine",
			Type:    mend,
		})
	}
	return x.writable()
}

// openBelow names what others may read or write of a file or folder.
func (x *examination) openBelow(top string) (open []string, err error) {
	err = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case errors.Is(err, fs.ErrPermission):
			x.unreadable(name)
			return fs.SkipDir
		case err != nil:
			return err
		}
		if info, err := d.Info(); err == nil && isOpen(info) {
			open = append(open, described(name, info))
		}
		return nil
	})
	return open, err
}

func isOpen(info fs.FileInfo) bool {
	return info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o077 != 0
}

func described(name string, info fs.FileInfo) string {
	return fmt.Sprintf("%s (%04o)", name, info.Mode().Perm())
}

// ours tells names of what a store makes in its folder.
func ours(name string) bool {
	switch name {
	case "locks", "logs", "runs", "keys", "accounts", "log", "staged", "format.json":
		return true
	}
	return strings.HasPrefix(name, "culm.db")
}

func (x *examination) unreadable(name string) {
	x.found(Finding{
		Code: CodeWrongRights, Level: Problem, Path: name,
		Message: name + " cannot be read by this user",
		Meaning: "what is in it cannot be looked at or changed",
		Type:    []Line{typed("sudo chown -R \"$USER\" "+quoted(x.p.Folder), "if it is yours")},
	})
}

// writable finds a folder in which nothing can be written.
func (x *examination) writable() error {
	_, err := os.Stat(x.p.Folder)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at rights: %w", err)
	}
	if err := mayWrite(x.p.Folder); err != nil {
		x.found(Finding{
			Code: CodeWrongRights, Level: Problem, Path: x.p.Folder,
			Message: fmt.Sprintf("%s cannot be written: %v", x.p.Folder, err),
			Meaning: "runs can be looked at, and none can be started or continued",
			Type:    []Line{typed("sudo chown -R \"$USER\" "+quoted(x.p.Folder), "if it is yours"), typed("chmod u+rwx "+quoted(x.p.Folder), "")},
		})
	}
	return nil
}

// some names a few of a list.
func some(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// quoted makes a path safe to paste into a POSIX shell.
func quoted(path string) string {
	if strings.IndexFunc(path, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:,+=@%", c))
	}) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
