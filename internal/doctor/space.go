package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Space is what a disk has, in bytes.
type Space struct {
	Free  int64 // for this user
	Total int64
	Files int64 // that can still be made; -1 if the file system has no such limit
}

// What is too little. A run writes a few kilobytes a step; its outputs may be
// larger.
const (
	fullBytes = 8 << 20
	lowBytes  = 256 << 20
	fullFiles = 100
)

func (x *examination) space() error {
	if x.p.Folder == "" {
		return nil
	}
	ask := x.p.Space
	if ask == nil {
		ask = freeSpace
	}
	s, err := ask(nearest(x.p.Folder, ask))
	if err != nil {
		return fmt.Errorf("look at free space: %w", err)
	}
	f := Finding{Path: x.p.Folder, Type: []Line{
		x.culm("remove what ended long ago", "gc", "--older-than", "7d"),
		typed("df -h "+quoted(x.p.Folder), "what else is on that disk?"),
	}}
	switch {
	case s.Free < fullBytes:
		f.Code, f.Level = CodeDiskFull, Damage
		f.Message = fmt.Sprintf("the disk is full: %d KiB of %d MiB are free", s.Free>>10, s.Total>>20)
		f.Meaning = "nothing can be started; runs that are going on wait, lose nothing, and go on when there is space"
	case s.Files >= 0 && s.Files < fullFiles:
		f.Code, f.Level = CodeDiskFull, Damage
		f.Message = fmt.Sprintf("the disk takes only %d more files", s.Files)
		f.Meaning = "locks cannot be made, so that nothing can be started"
	case s.Free < lowBytes:
		f.Code, f.Level = CodeLowSpace, Problem
		f.Message = fmt.Sprintf("%d MiB of %d MiB are free", s.Free>>20, s.Total>>20)
		f.Meaning = "runs that write more than that will wait for space"
	default:
		return nil
	}
	x.found(f)
	return nil
}

// nearest is the folder, or the nearest above it that exists.
func nearest(folder string, ask func(string) (Space, error)) string {
	for {
		_, err := ask(folder)
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(folder) == folder {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}
