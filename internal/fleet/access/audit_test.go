package access_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/host/mem"
)

// tape is a sink in memory that can fail before or after a write.
type tape struct {
	records       [][]byte
	before, after error
}

func (s *tape) Append(_ context.Context, records [][]byte) (uint64, error) {
	if s.before != nil {
		return 0, s.before
	}
	for _, r := range records {
		s.records = append(s.records, bytes.Clone(r))
	}
	return uint64(len(s.records)), s.after
}

// failer is a test of any kind.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func entry(n int) access.Entry {
	return access.Entry{User: "ada", Credential: "token fettle-api-x", Operation: "target.pin",
		Object: fmt.Sprintf("web%d", n), Outcome: access.Done, Reason: "test"}
}

func written(t failer, chain string, n int) *tape {
	t.Helper()
	s := &tape{}
	trail := access.NewTrail(s, access.Head{Chain: chain}, start)
	for i := range n {
		if err := trail.Append(context.Background(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func broken(t failer, records [][]byte, kept ...access.Head) *access.Broken {
	t.Helper()
	err := access.Verify(records, kept...)
	b, ok := errors.AsType[*access.Broken](err)
	if err != nil && !ok {
		t.Fatalf("the error is %T: %v", err, err)
	}
	return b
}

// The error names the first changed record and the kind of change.
func TestVerifyNamesTheFirst(t *testing.T) {
	all := written(t, "hub1", 6).records
	edited := bytes.Replace(all[2], []byte("web2"), []byte("web9"), 1)
	forged := forge(t, all[:2], 9)
	last := forge(t, all[:5], 9)
	cases := []struct {
		name    string
		records [][]byte
		what    string
		seq     uint64
	}{
		{"nothing", all, "", 0},
		{"none", nil, "", 0},
		{"the last twice", slices.Concat(all, all[5:]), "", 0},
		{"edited", slices.Concat(all[:2], [][]byte{edited}, all[3:]), "edited", 3},
		{"edited with its hash", slices.Concat(all[:2], [][]byte{forged}, all[3:]), "edited", 3},
		{"space added", slices.Concat(all[:2], [][]byte{append([]byte(" "), all[2]...)}, all[3:]), "edited", 3},
		{"first removed", all[1:], "removed", 1},
		{"removed", slices.Concat(all[:2], all[3:]), "removed", 3},
		{"two removed", slices.Concat(all[:2], all[4:]), "removed", 3},
		{"reordered", slices.Concat(all[:2], [][]byte{all[3], all[2]}, all[4:]), "reordered", 3},
		{"moved to the end", slices.Concat(all[:2], all[3:], all[2:3]), "reordered", 3},
		{"repeated", slices.Concat(all[:4], all[1:2], all[4:]), "reordered", 2},
		// The last record may be repeated, but a different record with its number is refused.
		{"another last behind the true one", slices.Concat(all, [][]byte{last}), "reordered", 6},
		{"the true last behind another one", slices.Concat(all[:5], [][]byte{last}, all[5:]), "reordered", 6},
		{"edited, and the true record behind it", slices.Concat(all[:2], [][]byte{edited}, all[2:]), "edited", 3},
		{"rubbish", slices.Concat(all[:2], [][]byte{[]byte("{")}, all[3:]), "edited", 0},
	}
	for _, c := range cases {
		b := broken(t, c.records)
		if c.what == "" {
			if b != nil {
				t.Errorf("%s: %v", c.name, b)
			}
			continue
		}
		if b == nil || b.What != c.what || b.Seq != c.seq {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
}

// forge appends a different record with valid hashes.
func forge(t failer, behind [][]byte, n int) []byte {
	t.Helper()
	var c access.Checker
	for _, r := range behind {
		if err := c.Next(r); err != nil {
			t.Fatal(err)
		}
	}
	s := &tape{}
	if err := access.NewTrail(s, c.Head("hub1"), start).Append(context.Background(), entry(n)); err != nil {
		t.Fatal(err)
	}
	return s.records[0]
}

// A stored head detects changes that a chain cannot: a truncated end, and a chain that was
// rewritten from some record on.
func TestStoredHeads(t *testing.T) {
	s := &tape{}
	trail := access.NewTrail(s, access.Head{Chain: "hub1"}, start)
	var heads []access.Head
	for i := range 5 {
		if err := trail.Append(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
		heads = append(heads, trail.Head())
	}
	if b := broken(t, s.records, heads...); b != nil {
		t.Fatal(b)
	}
	if b := broken(t, s.records[:3]); b != nil {
		t.Fatalf("without a head: %v", b)
	}
	if b := broken(t, s.records[:3], heads[4]); b == nil || b.What != "removed" || b.Seq != 4 {
		t.Errorf("cut off: %v", b)
	}
	anew := slices.Clone(s.records[:2])
	for i := range 3 {
		anew = append(anew, forge(t, anew, 7+i))
	}
	if b := broken(t, anew); b != nil {
		t.Fatalf("without a head: %v", b)
	}
	if b := broken(t, anew, heads[3]); b == nil || b.What != "edited" || b.Seq != 4 {
		t.Errorf("written anew: %v", b)
	}
}

// Every change of a log is detected, also if several hubs write to it.
func TestVerifyNoticesEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		one, other := written(t, "hub1", n), written(t, "hub2", n)
		var all [][]byte
		for i := range n {
			all = append(all, one.records[i], other.records[i])
		}
		kept := []access.Head{headOf(t, one), headOf(t, other)}
		if b := broken(t, all, kept...); b != nil {
			t.Fatal(b)
		}
		i, j := rapid.IntRange(0, len(all)-1).Draw(t, "i"), rapid.IntRange(0, len(all)-1).Draw(t, "j")
		changed := slices.Clone(all)
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			changed = slices.Delete(changed, i, i+1)
		case 1:
			changed[i] = bytes.Clone(all[i])
			changed[i][rapid.IntRange(0, len(all[i])-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		case 2:
			if (i-j)%2 != 0 || i == j {
				return // chains of two hubs have no order between them
			}
			changed[i], changed[j] = changed[j], changed[i]
		}
		if broken(t, changed, kept...) == nil {
			t.Fatal("nothing is noticed")
		}
	})
}

func headOf(t failer, s *tape) access.Head {
	t.Helper()
	var c access.Checker
	for _, r := range s.records {
		if err := c.Next(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := access.ParseRecord(s.records[0])
	if err != nil {
		t.Fatal(err)
	}
	return c.Head(r.Chain)
}

// A sink that fails before or after a write leaves a valid chain, and the caller gets the error.
func TestSinkFails(t *testing.T) {
	s := &tape{}
	trail := access.NewTrail(s, access.Head{Chain: "hub1"}, start)
	for i := range 40 {
		s.before, s.after = nil, nil
		switch i % 4 {
		case 1:
			s.before = errors.New("no quorum")
		case 2:
			s.after = errors.New("no answer")
		}
		err := trail.Append(t.Context(), entry(i))
		if (err != nil) != (i%4 == 1 || i%4 == 2) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if b := broken(t, s.records, trail.Head()); b != nil {
		t.Error(b)
	}
}

// A log in a file is valid after a power cut at any operation, and has all acknowledged records.
func TestFileAfterACrash(t *testing.T) {
	cut := errors.New("the power is gone")
	for n := 1; n < 60; n++ {
		disk := mem.NewFS(mem.Options{})
		ops := 0
		files := disk.Counted(func(string, string) error {
			if ops++; ops >= n {
				return cut
			}
			return nil
		})
		acknowledged := 0
		if trail, err := access.OpenTrail(&access.File{FS: files, Path: "/audit"}, "hub1", start); err == nil {
			for i := range 8 {
				if trail.Append(t.Context(), entry(i)) != nil {
					break
				}
				acknowledged++
			}
		}
		left := disk.CrashClone(rand.New(rand.NewPCG(uint64(n), 1)))
		f := &access.File{FS: left, Path: "/audit"}
		trail, err := access.OpenTrail(f, "hub1", start)
		if err != nil {
			t.Fatalf("power cut at operation %d: %v", n, err)
		}
		if trail.Head().Seq < uint64(acknowledged) {
			t.Fatalf("power cut at operation %d: %d were acknowledged and %d are there", n, acknowledged, trail.Head().Seq)
		}
		if err := trail.Append(t.Context(), entry(99)); err != nil {
			t.Fatal(err)
		}
		records, err := f.Records()
		if err != nil || broken(t, records, trail.Head()) != nil {
			t.Fatalf("power cut at operation %d: %v", n, err)
		}
	}
}

// An edited file is not continued.
func TestEditedFile(t *testing.T) {
	disk := mem.NewFS(mem.Options{})
	trail, err := access.OpenTrail(&access.File{FS: disk, Path: "/audit"}, "hub1", start)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := trail.Append(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := disk.OpenWrite("/audit")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(`{"format":"x"`)); err != nil {
		t.Fatal(err)
	}
	if _, err := access.OpenTrail(&access.File{FS: disk, Path: "/audit"}, "hub1", start); err == nil ||
		!strings.Contains(err.Error(), "was edited") {
		t.Error(err)
	}
}

// An entry with any content can be read again unchanged.
func FuzzRecord(f *testing.F) {
	f.Add("ada", "target.pin", "web<1>\xff", "\u2028")
	f.Fuzz(func(t *testing.T, who, what, on, reason string) {
		s := &tape{}
		trail := access.NewTrail(s, access.Head{Chain: "hub1"}, func() time.Time { return start() })
		for range 2 {
			if err := trail.Append(context.Background(), access.Entry{User: who, Operation: what, Object: on,
				Reason: reason}); err != nil {
				return // too long
			}
		}
		if b := broken(t, s.records, trail.Head()); b != nil {
			t.Fatal(b)
		}
	})
}

func ExampleVerify() {
	s := &tape{}
	trail := access.NewTrail(s, access.Head{Chain: "hub1"}, start)
	for _, on := range []string{"web1", "web2", "web3"} {
		_ = trail.Append(context.Background(), access.Entry{User: "ada", Operation: "target.retire", Object: on,
			Outcome: access.Done})
	}
	fmt.Println(access.Verify(s.records, trail.Head()))
	fmt.Println(access.Verify(slices.Delete(s.records, 1, 2)))
	// Output:
	// <nil>
	// cannot trust the audit log: at position 2, record 2 of the chain "hub1" was removed: record 3 follows record 1
}

// TestRemovedInOneChain: in a log of two hubs, a missing record of one hub is not found among the
// records of the other.
func TestRemovedInOneChain(t *testing.T) {
	one, other := written(t, "hub1", 4).records, written(t, "hub2", 4).records
	b := broken(t, slices.Concat(one[:2], one[3:], other))
	if b == nil || b.What != "removed" || b.Chain != "hub1" || b.Seq != 3 {
		t.Errorf("%+v", b)
	}
}

// TestRepeatedRecordIsExplained: the error names the record after which the repeated one is.
func TestRepeatedRecordIsExplained(t *testing.T) {
	all := written(t, "hub1", 4).records
	if b := broken(t, slices.Concat(all, all[1:2])); b == nil || b.Why != "it is after record 4" {
		t.Errorf("%+v", b)
	}
}

// flaky is a sink that fails some writes.
type flaky struct {
	tape
	fails []bool
}

func (s *flaky) Append(ctx context.Context, records [][]byte) (uint64, error) {
	fail := len(s.fails) > 0 && s.fails[0]
	s.fails = s.fails[min(1, len(s.fails)):]
	if fail {
		return 0, errors.New("no quorum")
	}
	return s.tape.Append(ctx, records)
}

// TestUnsureRecordIsWrittenFirst: while a record with an unknown result cannot be written, no later
// record is written.
func TestUnsureRecordIsWrittenFirst(t *testing.T) {
	s := &flaky{fails: []bool{true, true}}
	trail := access.NewTrail(s, access.Head{Chain: "hub1"}, start)
	for i := range 3 {
		if err := trail.Append(t.Context(), entry(i)); (err == nil) != (i == 2) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if b := broken(t, s.records, trail.Head()); b != nil || len(s.records) != 2 {
		t.Errorf("%d records: %v", len(s.records), b)
	}
}
