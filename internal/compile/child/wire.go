package child

import (
	"encoding/binary"

	"fettle.dev/fettle/internal/diag"
)

// writer appends values to a payload: numbers as varints, texts with their
// length before them.
type writer struct{ b []byte }

func (w *writer) num(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *writer) int(n int) { w.num(uint64(max(n, 0))) }

func (w *writer) text(s string) {
	w.int(len(s))
	w.b = append(w.b, s...)
}

func (w *writer) bool(v bool) {
	if v {
		w.num(1)
		return
	}
	w.num(0)
}

func (w *writer) texts(list []string) {
	w.int(len(list))
	for _, s := range list {
		w.text(s)
	}
}

func (w *writer) rng(r diag.Range) {
	w.text(r.File)
	for _, p := range []diag.Pos{r.Start, r.End} {
		w.int(p.Line)
		w.int(p.Column)
		w.int(p.Byte)
	}
}

func (w *writer) ranges(list []diag.Range) {
	w.int(len(list))
	for _, r := range list {
		w.rng(r)
	}
}

func (w *writer) diags(ds diag.List) {
	w.int(len(ds))
	for _, d := range ds {
		w.num(uint64(d.Severity))
		w.text(d.Summary)
		w.text(d.Detail)
		w.rng(d.Range)
		w.text(d.Line)
		w.ranges(d.Trace)
	}
}

// reader decodes values from a payload. After the first error it returns zeros and keeps the error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = nonsense(format, args...)
	}
	r.b = nil
}

func (r *reader) num() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail("a truncated number")
		return 0
	}
	r.b = r.b[size:]
	return n
}

// int reads a number that is valid as a size, line or index.
func (r *reader) int() int {
	n := r.num()
	if n > 1<<40 {
		r.fail("the number %d", n)
		return 0
	}
	return int(n)
}

func (r *reader) bool() bool {
	n := r.num()
	if n > 1 {
		r.fail("%d instead of a boolean", n)
	}
	return n == 1
}

func (r *reader) bytes() []byte {
	n := r.num()
	if n > uint64(len(r.b)) {
		r.fail("a text of %d bytes in %d", n, len(r.b))
		return nil
	}
	out := r.b[:n:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) text() string { return string(r.bytes()) }

// count reads the length of a list whose elements have at least least bytes each. No list can thus
// be larger than the message.
func (r *reader) count(least int) int {
	n := r.num()
	if n > uint64(len(r.b)/least) {
		r.fail("a list of %d in %d bytes", n, len(r.b))
		return 0
	}
	return int(n)
}

func (r *reader) texts() []string {
	var out []string
	for range r.count(1) {
		out = append(out, r.text())
	}
	return out
}

func (r *reader) rng() diag.Range {
	out := diag.Range{File: r.text()}
	for _, p := range []*diag.Pos{&out.Start, &out.End} {
		p.Line, p.Column, p.Byte = r.int(), r.int(), r.int()
	}
	return out
}

func (r *reader) ranges() []diag.Range {
	var out []diag.Range
	for range r.count(7) {
		out = append(out, r.rng())
	}
	return out
}

func (r *reader) diags() diag.List {
	var out diag.List
	for range r.count(12) {
		s := r.num()
		if s > uint64(diag.Warning) {
			r.fail("the severity %d", s)
		}
		d := diag.Diagnostic{Severity: diag.Severity(s), Summary: r.text(), Detail: r.text(), Range: r.rng(),
			Line: r.text(), Trace: r.ranges()}
		if r.err != nil {
			return nil
		}
		out = append(out, d)
	}
	return out
}

// end reports an error if the payload was invalid or not read completely.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes after the end", len(r.b))
	}
	return r.err
}
