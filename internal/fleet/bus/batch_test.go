package bus

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
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

// To pack a batch does not allocate a megabyte each time: a hub packs thousands of batches for a
// commit in a large fleet.
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
	if n := r.AllocedBytesPerOp(); n > 500_000 { // the race detector discards some pooled encoders
		t.Errorf("%d bytes are allocated for one batch", n)
	}
}

// Batches of earlier versions can be read.
func TestBatchesOfOldLogs(t *testing.T) {
	var p batches
	plain := []byte("\x01a\x02bc")
	var deflated bytes.Buffer
	w, err := flate.NewWriter(&deflated, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(plain)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	head := binary.BigEndian.AppendUint32(nil, checksum(plain))
	for format, body := range map[byte][]byte{batchPlain: plain, batchDeflated: deflated.Bytes()} {
		got, err := p.open(slices.Concat([]byte{format}, head, body))
		if err != nil || !slices.EqualFunc(got, [][]byte{[]byte("a"), []byte("bc")}, bytes.Equal) {
			t.Errorf("format %d: %q, %v", format, got, err)
		}
	}
}

// reports returns n reports with the same status of 50 modules, and the partial report that follows
// each.
func reports(n int) (whole, parts [][]byte) {
	for i := range n {
		target, err := fleet.NewTargetID(bytes.NewReader(binary.BigEndian.AppendUint64(make([]byte, 8),
			uint64(i)*0x9e3779b97f4a7c15)))
		if err != nil {
			panic(err)
		}
		r := fleet.Report{Format: fleet.ReportFormat, Target: target, Seq: 3, Boot: "b",
			At: 1_795_355_153_000_000_000 + int64(i)*7_654_321, Event: fleet.Event{Kind: fleet.Ready, Run: 1},
			Status: fleet.Status{Epoch: 1_795_355_153, Generation: 1, Version: "1.0"}}
		for k := range 50 {
			sum := sha256.Sum256([]byte{byte(k)})
			r.Status.Modules = append(r.Status.Modules, fleet.ModuleStatus{Module: fmt.Sprintf("modules/m%03d", k),
				Commit: hex.EncodeToString(sum[:20]), Bundle: "sha256:" + hex.EncodeToString(sum[:]), State: fleet.ModuleReady,
				Since: r.At})
		}
		text, _ := json.Marshal(r)
		whole = append(whole, text)
		r.Status.Modules, r.Since, r.Seq = r.Status.Modules[:1], 3, 4
		text, _ = json.Marshal(r)
		parts = append(parts, text)
	}
	return whole, parts
}

// The size of a target's records in the log is limited, in bytes.
func TestBatchesAreSmall(t *testing.T) {
	var p batches
	whole, parts := reports(8)
	for _, c := range []struct {
		name    string
		records [][]byte
		most    int // bytes of each
	}{{"whole reports", whole, 470}, {"parts", parts, 50}, {"one part", parts[:1], 170}} {
		b, err := p.pack(c.records)
		if err != nil || len(b)/len(c.records) > c.most {
			t.Errorf("%s: %d bytes each, %v", c.name, len(b)/len(c.records), err)
		}
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
		"f.a.down.r.x.1": true, "": false, "f.a.down.r.x": false, "f.a.down.r.x.1.2": false, "f.a.down.r.*.1": false,
		"f.a.down.r.>.1": false, "f.b.down.r.x.1": false, "f.a.down.q.do": false, "f.a.up.r.x.1": false,
		"f.ab.down.r.x.1": false, "f.a.down.r..1": false, "f.a.down.r.x.": false, "f.a.down.r.x.1 PUB": false,
	} {
		if got := mayAnswer("a", reply); got != want {
			t.Errorf("mayAnswer(%q) is %v", reply, got)
		}
	}
}
