package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxPage limits a page of the log, in bytes.
const maxPage = 1 << 20

// ErrNoRecord means that no record begins at an offset. If the offset is from an earlier page, the
// log was truncated, edited or started again.
var ErrNoRecord = errors.New("no record begins at this offset")

// Page reads at most limit records from an offset in bytes, and at most about 1 MiB. It returns the
// offsets of the first record and after the last one. A negative offset means the last limit
// records. It is safe while other goroutines append.
func (f *File) Page(from int64, limit int) (records []string, first, next int64, err error) {
	p, err := f.page(from, limit)
	return p.records, p.first, p.next, err
}

// page is a part of the log.
type page struct {
	records     []string
	first, next int64
}

func (f *File) page(from int64, limit int) (page, error) {
	file, err := f.FS.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) && from <= 0 {
		return page{}, nil
	}
	if err != nil {
		return page{}, fmt.Errorf("cannot open the audit log %s: %w", f.Path, err)
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return page{}, fmt.Errorf("cannot read the audit log %s: %w", f.Path, err)
	}
	if from > end {
		return page{}, fmt.Errorf("cannot read the audit log from byte %d on, it has %d: %w", from, end, ErrNoRecord)
	}
	last := from < 0
	if last {
		from = max(0, end-maxPage)
	}
	// The byte before shows whether a record begins at the offset.
	before := min(from, 1)
	b, err := io.ReadAll(io.NewSectionReader(file, from-before, maxPage+before))
	if err != nil {
		return page{}, fmt.Errorf("cannot read the audit log %s: %w", f.Path, err)
	}
	if before == 1 && !bytes.HasPrefix(b, []byte("\n")) {
		if !last {
			return page{}, fmt.Errorf("cannot read the audit log from byte %d on: %w", from, ErrNoRecord)
		}
		cut := bytes.IndexByte(b, '\n') + 1
		from, b, before = from-before+int64(cut), b[cut:], 0
	}
	records, size := lines(b[before:], limit, last)
	if last {
		from += int64(bytes.LastIndexByte(b[before:], '\n')+1) - size
	}
	return page{records, from, from + size}, nil
}

// lines returns the first or last complete lines of a text, and their size in bytes.
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
