package stream

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

var errBad = errors.New("cannot read a frame")

// formats are a head with the length last, one with bytes before and after it, and one whose length
// includes a part of the head.
func formats() []Format {
	return []Format{
		{Head: 5, Length: 1, Most: 1 << 20, Malformed: errBad},
		{Head: 10, Length: 6, Most: 256 << 10, Malformed: errBad},
		{Head: 5, Length: 0, Counted: 1, Most: 2 << 20, Room: 16, Malformed: errBad},
	}
}

// TestBytes: the bytes of a frame are those that earlier versions send and read.
func TestBytes(t *testing.T) {
	heads := []string{"Q----", "\x05\x01\x00\x00\x00\x07----", "----M"}
	want := []string{"Q\x00\x00\x00\x04body", "\x05\x01\x00\x00\x00\x07\x00\x00\x00\x04body", "\x00\x00\x00\x05Mbody"}
	for i, f := range formats() {
		got := f.Append([]byte("before "), []byte(heads[i]), []byte("bo"), []byte("dy"))
		if string(got) != "before "+want[i] {
			t.Errorf("format %d: %q, want %q", i, got, want[i])
		}
		var b bytes.Buffer
		if err := f.Write(&b, []byte(heads[i]), []byte("body")); err != nil || b.String() != want[i] {
			t.Errorf("format %d: wrote %q, %v", i, b.String(), err)
		}
	}
}

// read reads a frame of which had bytes have arrived.
func (f Format) read(r io.Reader, had int) (head, body []byte, err error) {
	head = make([]byte, f.Head)
	if _, err := io.ReadFull(r, head[:had]); err != nil {
		return nil, nil, err
	}
	body, err = f.Read(r, head, had)
	return head, body, err
}

// TestSizes: bodies of any size arrive unchanged, in reads of one byte too.
func TestSizes(t *testing.T) {
	for _, f := range formats() {
		for _, n := range []int{0, 1, 15, 16, 17, 63, 64, 65, together, together + 1, 256 << 10} {
			body := []byte(strings.Repeat("x", n))
			var b bytes.Buffer
			if err := f.Write(&b, make([]byte, f.Head), body); err != nil {
				t.Fatal(err)
			}
			_, got, err := f.read(iotest.OneByteReader(&b), n%f.Head)
			if err != nil || !bytes.Equal(got, body) || b.Len() > 0 {
				t.Errorf("%d bytes: got %d, %d remain, %v", n, len(got), b.Len(), err)
			}
		}
	}
}

// TestEnds: only an end between two frames is io.EOF.
func TestEnds(t *testing.T) {
	for i, f := range formats() {
		whole := f.Append(nil, make([]byte, f.Head), []byte("body"))
		for n := range len(whole) {
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			if _, _, err := f.read(bytes.NewReader(whole[:n]), 0); err != want {
				t.Errorf("format %d ends after %d bytes: %v, want %v", i, n, err, want)
			}
		}
	}
	if _, err := formats()[0].ReadHead(strings.NewReader(""), make([]byte, 5), 1); err != io.ErrUnexpectedEOF {
		t.Errorf("an end after a byte that was read before: %v", err)
	}
}

// TestLimit: an invalid length is an error before memory is allocated, and a valid one reserves only
// a multiple of the bytes that arrived.
func TestLimit(t *testing.T) {
	for i, f := range formats() {
		head := f.Append(nil, make([]byte, f.Head))
		f.setLength(head, f.Most+1)
		if _, _, err := f.read(bytes.NewReader(head), 0); !errors.Is(err, errBad) {
			t.Errorf("format %d: a frame above the limit: %v", i, err)
		}
		f.setLength(head, -1)
		if _, _, err := f.read(bytes.NewReader(head), 0); !errors.Is(err, errBad) {
			t.Errorf("format %d: a frame of -1 bytes: %v", i, err)
		}
	}
	f := Format{Head: 4, Most: 1 << 30, Malformed: errBad}
	const arrived = 1 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := f.ReadBody(bytes.NewReader(make([]byte, arrived)), nil, f.Most)
	runtime.ReadMemStats(&after)
	if err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 3*growth*arrived {
		t.Errorf("allocated %d bytes for %d", n, arrived)
	}
}

// TestReuse: a buffer that is large enough is used.
func TestReuse(t *testing.T) {
	f, buf := formats()[0], make([]byte, 10)
	got, err := f.ReadBody(strings.NewReader("body"), buf, 4)
	if err != nil || string(got) != "body" || &got[0] != &buf[0] {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzFormat: any input is frames that are encoded to the same bytes, or an error.
func FuzzFormat(f *testing.F) {
	f.Add([]byte("Q\x00\x00\x00\x04bodyQ\x00\x00\x00\x00"))
	f.Add([]byte("\x05\x01\x00\x00\x00\x07\x00\x00\x00\x04body"))
	f.Add([]byte("\x00\x00\x00\x05Mbody\x00\x00\x00\x01P\x00\x00\x00\x00"))
	f.Add([]byte("Q\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range formats() {
			for r := bytes.NewReader(data); ; {
				begin := len(data) - r.Len()
				head, body, err := format.read(r, 0)
				if err != nil {
					break
				}
				if len(body) > format.Most {
					t.Fatalf("a body of %d bytes", len(body))
				}
				if got := format.Append(nil, head, body); !bytes.Equal(got, data[begin:len(data)-r.Len()]) {
					t.Fatalf("%q is encoded as %q", data[begin:], got)
				}
			}
		}
	})
}
