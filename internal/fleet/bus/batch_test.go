package bus

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBatches(t *testing.T) {
	var p batches
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "records")
		b, err := p.pack(records)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.open(b)
		if err != nil || !slices.EqualFunc(got, records, bytes.Equal) {
			t.Fatalf("wrote %q, read %q, %v", records, got, err)
		}
		cut := b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]
		if got, err := p.open(cut); err == nil && len(records) > 0 && !slices.EqualFunc(got, records, bytes.Equal) {
			t.Fatalf("a batch that was cut gives %q", got)
		}
		i := rapid.IntRange(0, len(b)-1).Draw(t, "flip")
		b[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if got, err := p.open(b); err == nil && !slices.EqualFunc(got, records, bytes.Equal) {
			t.Fatalf("a batch with a flipped bit gives %q", got)
		}
	})
}

func TestBatchesThatAreTooLarge(t *testing.T) {
	var p batches
	if _, err := p.pack([][]byte{make([]byte, MaxBatch)}); err == nil {
		t.Error("packed more than a batch may have")
	}
	b, err := p.pack([][]byte{make([]byte, MaxBatch-4)})
	if err != nil || len(b) > 10_000 {
		t.Errorf("zeros take %d bytes, %v", len(b), err)
	}
	if got, err := p.open(b); err != nil || len(got[0]) != MaxBatch-4 {
		t.Errorf("the largest: %v", err)
	}
}

// To pack a batch takes no megabyte each time: a hub packs some thousands for a commit that
// a large fleet has.
func TestBatchesTakeLittleMemory(t *testing.T) {
	var p batches
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			packed, err := p.pack([][]byte{make([]byte, 1000)})
			if err == nil {
				_, err = p.open(packed)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	if n := r.AllocedBytesPerOp(); n > 500_000 { // the race detector has some thrown away
		t.Errorf("%d bytes are allocated for one batch", n)
	}
}

func FuzzBatch(f *testing.F) {
	var p batches
	for _, records := range [][][]byte{nil, {{}}, {[]byte("a"), []byte("bc")}, {make([]byte, 1000)}} {
		b, err := p.pack(records)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := p.open(b); err == nil {
			again, err := p.pack(got)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := p.open(again); err != nil || !slices.EqualFunc(twice, got, bytes.Equal) {
				t.Fatalf("%q became %q, %v", got, twice, err)
			}
		}
	})
}

// FuzzStreamFrame gives one end of a stream whatever the other end may send.
func FuzzStreamFrame(f *testing.F) {
	f.Add([]byte("D\x00hello"), []byte("F\x05"))
	f.Add([]byte("G\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), []byte("P"))
	f.Add([]byte("R why"), []byte("D"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		s := newStream(func([]byte) error { return nil }, func() {})
		defer s.Close()
		s.frame(a)
		s.frame(b)
		if n := s.in.Len(); n > window {
			t.Fatalf("%d bytes are kept", n)
		}
	})
}

func FuzzOpenAndAnswer(f *testing.F) {
	f.Add(packOpen("a1", "b2", []byte("header")))
	f.Add([]byte("a.b c\n"))
	f.Add(packAnswer([]byte("x"), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if hub, sid, _, err := parseOpen(b); err == nil && !(isToken(hub) && isToken(sid)) {
			t.Fatalf("opened %q %q", hub, sid)
		}
		_, _ = openAnswer(b)
	})
}

func TestMayAnswer(t *testing.T) {
	for reply, want := range map[string]bool{
		"f.a.down.r.x.1": true, "": false, "f.a.down.r.x": false, "f.a.down.r.x.1.2": false, "f.a.down.r.*.1": false, "f.a.down.r.>.1": false, "f.b.down.r.x.1": false, "f.a.down.q.do": false, "f.a.up.r.x.1": false, "f.ab.down.r.x.1": false, "f.a.down.r..1": false, "f.a.down.r.x.": false, "f.a.down.r.x.1 PUB": false,
	} {
		if got := mayAnswer("a", reply); got != want {
			t.Errorf("mayAnswer(%q) is %v", reply, got)
		}
	}
}
