package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/addr"
	commit "fettle.dev/fettle/test/sample"
)

// sample is a journal of three synced batches, with the place of each frame.
func sample(t testing.TB) (b []byte, recs []Record, at []int) {
	t.Helper()
	b = []byte(magic)
	for i := range 12 {
		r := Record{Kind: Move, At: int64(i), Change: i, Addr: addr.File(fmt.Sprintf("/etc/%d", i))}
		if i == 0 {
			r = Record{Kind: Begin, At: 1, Header: &Header{Format: 1, Run: 7}}
		}
		if i > 0 && i%4 == 0 {
			r.Synced = uint64(i)
		}
		at = append(at, len(b))
		var err error
		if b, _, err = appendFrame(b, uint64(i+1), &r); err != nil {
			t.Fatal(err)
		}
		r.Seq = uint64(i + 1)
		recs = append(recs, r)
	}
	return b, recs, append(at, len(b))
}

// law: the records that are read are a prefix of the records that were written, and an error has a
// defined type.
func law(t testing.TB, b []byte, recs []Record) scanned {
	t.Helper()
	sc, err := scan(7, b)
	var corrupt *CorruptError
	var newer *NewerFormatError
	if err != nil && !errors.As(err, &corrupt) && !errors.As(err, &newer) {
		t.Fatalf("an error without a kind: %v", err)
	}
	if len(sc.records) > len(recs) || (len(sc.records) > 0 && !reflect.DeepEqual(sc.records, recs[:len(sc.records)])) {
		t.Fatalf("a wrong record was read: %+v", sc.records)
	}
	return sc
}

// TestMutations reads journals with random changes, of which a commit selects a part.
func TestMutations(t *testing.T) {
	b, recs, at := sample(t)
	rng := rand.New(rand.NewPCG(1, 2))
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	for round := range n {
		m := append([]byte(nil), b...)
		i, k := rng.IntN(len(recs)), rng.IntN(len(recs))
		frame := func(i int) []byte { return b[at[i]:at[i+1]] }
		switch rng.IntN(5) {
		case 0:
			m[rng.IntN(len(m))] ^= 1 << rng.IntN(8)
		case 1:
			m = m[:rng.IntN(len(m))]
		case 2: // doubled
			m = append(append(append([]byte(nil), b[:at[i+1]]...), frame(k)...), b[at[i+1]:]...)
		case 3: // left out
			m = append(append([]byte(nil), b[:at[i]]...), b[at[i+1]:]...)
		case 4: // exchanged
			if i > k {
				i, k = k, i
			}
			if i != k {
				m = append([]byte(nil), b[:at[i]]...)
				m = append(append(append(m, frame(k)...), b[at[i+1]:at[k]]...), frame(i)...)
				m = append(m, b[at[k+1]:]...)
			}
		}
		if commit.Has(round) {
			law(t, m, recs)
		}
	}
}

// TestEveryFlip: the records before the flip are read, and damage before the last sync is
// distinguished from a torn tail.
func TestEveryFlip(t *testing.T) {
	b, recs, at := sample(t)
	for p := range b {
		m := append([]byte(nil), b...)
		m[p] ^= 0x10
		sc := law(t, m, recs)
		hit := 0
		for hit < len(recs) && at[hit+1] <= p {
			hit++
		}
		if p < len(magic) {
			hit = 0
		}
		_, err := scan(7, m)
		var corrupt *CorruptError
		if len(sc.records) != hit && p >= len(magic) {
			t.Fatalf("flip at %d in record %d: %d records", p, hit, len(sc.records))
		}
		if durable := hit < 8; durable != errors.As(err, &corrupt) && p >= len(magic) {
			t.Fatalf("flip at %d in record %d: %v", p, hit, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	b, _, at := sample(f)
	f.Add(b)
	f.Add(b[:at[5]+7])
	f.Add([]byte("FETTLEWAL2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sc, err := scan(7, b)
		again, err2 := scan(7, b[:min(int(sc.good), len(b))])
		if err == nil && len(sc.records) > 0 && (err2 != nil || len(again.records) != len(sc.records)) {
			t.Fatalf("the good part reads as %d records (%v), was %d", len(again.records), err2, len(sc.records))
		}
		for i, r := range sc.records {
			if r.Seq != uint64(i+1) {
				t.Fatalf("record %d has seq %d", i, r.Seq)
			}
		}
	})
}

func TestPayloadsHoldNoZeroByte(t *testing.T) {
	b, _, err := appendFrame(nil, 1, &Record{Kind: Note, Text: "\x00\x00\x00", Path: "\x00"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b[frameHead:] {
		if c == 0 {
			t.Fatal("a frame could hide in a payload")
		}
	}
	if binary.LittleEndian.Uint32(b) == 0 {
		t.Fatal("no length")
	}
}
