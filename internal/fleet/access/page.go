package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxPage bounds one page of the log, in bytes.
const maxPage = 1 << 20

// ErrNoRecord: no record of the log begins at a place. Whoever had that place from an
// earlier page sees that the log was cut off, edited or begun anew.
var ErrNoRecord = errors.New("no record begins there")

// Page reads the records from a place of the file on, in bytes, at most limit and about
// 1 MiB of them, and gives the places of the first and behind the last. A place below 0 is
// that of the last limit records, as far as 1 MiB goes. It is safe while others append.
func (f *File) Page(from int64, limit int) (records []string, first, next int64, err error) {
	file, err := f.FS.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) && from <= 0 {
		return nil, 0, 0, nil
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("cannot open the audit log %s: %w", f.Path, err)
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("cannot read the audit log %s: %w", f.Path, err)
	}
	if from > end {
		return nil, 0, 0, fmt.Errorf("cannot read the audit log from byte %d on, it has %d: %w", from, end, ErrNoRecord)
	}
	last := from < 0
	if last {
		from = max(0, end-maxPage)
	}
	// One byte more tells whether a record begins there.
	before := min(from, 1)
	b := make([]byte, min(end-from, maxPage)+before)
	if _, err := file.ReadAt(b, from-before); err != nil && err != io.EOF {
		return nil, 0, 0, fmt.Errorf("cannot read the audit log %s: %w", f.Path, err)
	}
	if before == 1 && b[0] != '\n' {
		if !last {
			return nil, 0, 0, fmt.Errorf("cannot read the audit log from byte %d on: %w", from, ErrNoRecord)
		}
		cut := bytes.IndexByte(b, '\n') + 1
		from, b, before = from-before+int64(cut), b[cut:], 0
	}
	records, size := lines(b[before:], limit, last)
	if last {
		from += int64(bytes.LastIndexByte(b[before:], '\n')+1) - size
	}
	return records, from, from + size, nil
}

// lines are the first whole lines of a text, or the last, and how long they are.
func lines(b []byte, limit int, last bool) (out []string, size int64) {
	var all [][]byte
	for line := range bytes.Lines(b[:bytes.LastIndexByte(b, '\n')+1]) {
		all = append(all, line)
	}
	if n := min(limit, len(all)); last {
		all = all[len(all)-n:]
	} else {
		all = all[:n]
	}
	for _, line := range all {
		out = append(out, string(bytes.TrimSuffix(line, []byte("\n"))))
		size += int64(len(line))
	}
	return out, size
}
