package wire

import (
	"bytes"
	"testing"
)

// TestFrameBytes: the bytes of frames are those of earlier versions.
func TestFrameBytes(t *testing.T) {
	var b bytes.Buffer
	w := &writer{to: &b}
	for _, f := range []frame{grantOf(7, 1<<20), {typeCall, true, 0x01020304, []byte("{}")}, {kind: typePing}} {
		if err := w.send(f); err != nil {
			t.Fatal(err)
		}
	}
	want := "\x06\x00\x00\x00\x00\x07\x00\x00\x00\x04\x00\x10\x00\x00" +
		"\x01\x02\x01\x02\x03\x04\x00\x00\x00\x02{}" + "\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	b.Reset()
	if err := w.send(frame{typeData, false, 9, make([]byte, worthwhile)}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got[:6] != "\x05\x01\x00\x00\x00\x09" || len(got) != headSize+int(got[8])<<8+int(got[9]) {
		t.Errorf("a compressed frame of %d bytes begins with %q", len(got), got[:headSize])
	}
}

// FuzzFrames: any input is read as frames within bounds or as an error, and what is sent
// comes back.
func FuzzFrames(f *testing.F) {
	var b bytes.Buffer
	w := &writer{to: &b}
	_ = w.sendMessage(typeCall, 7, bytes.Repeat([]byte("text "), worthwhile))
	_ = w.send(frame{kind: typePing})
	f.Add(b.Bytes())
	f.Add([]byte{typeData, flagDeflated, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(bytes.NewReader(data))
		for {
			got, err := r.next()
			if err != nil {
				return
			}
			if len(got.payload) > maxFrame {
				t.Fatalf("a frame of %d bytes", len(got.payload))
			}
			var again bytes.Buffer
			w := &writer{to: &again}
			if err := w.send(got); err != nil {
				t.Fatal(err)
			}
			back, err := newReader(&again).next()
			if err != nil || back.kind != got.kind || back.more != got.more || back.stream != got.stream || !bytes.Equal(back.payload, got.payload) {
				t.Fatalf("%+v comes back as %+v %v", got, back, err)
			}
		}
	})
}
