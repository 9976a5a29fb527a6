package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
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

// maxScan limits the bytes that Last reads.
const maxScan = 16 << 20

// Last returns the newest records that keep accepts, the oldest first: at most limit, from the last 16 MiB of the log.
// Records that were edited are omitted. It is safe while other goroutines append.
func (f *File) Last(limit int, keep func(Record) bool) ([]Record, error) {
	file, err := f.FS.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the audit log %s: %w", f.Path, err)
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	var out []Record
	var rest []byte // the end of a line that begins before
	for at := end; err == nil && at > max(0, end-maxScan) && len(out) < limit; {
		from := max(0, at-maxPage)
		var b []byte
		if b, err = io.ReadAll(io.NewSectionReader(file, from, at-from)); err != nil {
			break
		}
		if at == end { // without the incomplete line after a crash
			b = b[:bytes.LastIndexByte(b, '\n')+1]
		}
		b = append(b, rest...)
		if at, rest = from, nil; from > 0 {
			cut := bytes.IndexByte(b, '\n') + 1
			rest, b = bytes.Clone(b[:cut]), b[cut:]
		}
		out = append(out, newest(b, limit-len(out), keep)...)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the audit log %s: %w", f.Path, err)
	}
	slices.Reverse(out)
	return out, nil
}

// newest returns the last records of complete lines that keep accepts, the newest first.
func newest(lines []byte, limit int, keep func(Record) bool) (out []Record) {
	all := bytes.Split(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n"))
	for _, line := range slices.Backward(all) {
		if len(out) == limit {
			return out
		}
		if r, err := ParseRecord(line); err == nil && keep(r) {
			out = append(out, r)
		}
	}
	return out
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
