package file

import (
	"bytes"
	"io"

	"github.com/culm-dev/culm/tool"
)

// sniffLength is how many bytes decide whether a file is binary.
const sniffLength = 8 << 10

// read returns a file's content if it is a text to search.
func (s *search) read(name string) ([]byte, bool) {
	f, info, err := openRegular(tool.Call{}, s.root, name, name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if info.Size() > maxGrepFile {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxGrepFile+1))
	if err != nil || len(text) > maxGrepFile {
		return nil, false
	}
	return text, bytes.IndexByte(text[:min(sniffLength, len(text))], 0) < 0
}

// lines adds the matches of one text; errEnough ends the search.
func (s *search) lines(name string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	for i, line := range lines {
		if !s.expr.Match(bytes.TrimSuffix(line, []byte("\r"))) {
			continue
		}
		if len(s.out.Matches) == s.limit || s.size > maxGrepText {
			s.out.Truncated = true
			return errEnough
		}
		first, last := max(0, i-s.context), min(len(lines), i+1+s.context)
		s.out.Matches = append(s.out.Matches, grepMatch{
			Path: shown(name), Line: i + 1, Text: shownLine(line),
			Before: shownLines(lines[first:i]), After: shownLines(lines[i+1 : last]),
		})
		for _, l := range lines[first:last] {
			s.size += min(len(l), maxGrepLine)
		}
	}
	return nil
}

func shownLines(lines [][]byte) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = shownLine(line)
	}
	return out
}

// shownLine is a line without its end, cut to what is returned.
func shownLine(line []byte) string {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) <= maxGrepLine {
		return string(bytes.ToValidUTF8(line, []byte("\uFFFD")))
	}
	return string(bytes.ToValidUTF8(line[:maxGrepLine], nil)) + " …"
}
