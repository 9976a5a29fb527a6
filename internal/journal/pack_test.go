package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

func packedText(i int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("%06d ", i)), 1+i%300) }

// fill puts n objects into packs and makes them durable.
func fill(t *testing.T, s *journal.Store, from, to int) (digests []string) {
	t.Helper()
	s.Pack(true)
	for i := from; i < to; i++ {
		digests = append(digests, must(s.PutBytes(packedText(i)))(t))
	}
	check(t, s.SyncObjects())
	return digests
}

func readable(t *testing.T, s *journal.Store, digests []string, from int) {
	t.Helper()
	for k, d := range digests {
		if got := must(s.ReadObject(d))(t); !s.Has(d) || !bytes.Equal(got, packedText(from+k)) {
			t.Fatalf("object %d came back with %d bytes", from+k, len(got))
		}
	}
}

func TestPacksAreReadByLaterProcesses(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	a := fill(t, open(t, fsys), 0, 2000)
	b := fill(t, open(t, fsys), 1500, 2500) // half of them again, in another process
	names := must(fsys.ReadDir("/packs"))(t)
	if len(names) != 4 {
		t.Fatalf("%v: want two packs with their indexes", names)
	}
	s := open(t, fsys)
	readable(t, s, a, 0)
	readable(t, s, b, 1500)
	if dirs := must(fsys.ReadDir("/objects"))(t); len(dirs) != 0 {
		t.Errorf("loose objects: %v", dirs)
	}
}

func TestPackWithoutItsIndex(t *testing.T) {
	for name, damage := range map[string]func(fsys *mem.FS){
		"missing": func(fsys *mem.FS) { check(t, fsys.Remove("/packs/000001.idx")) },
		"flipped": func(fsys *mem.FS) { flip(t, fsys, "/packs/000001.idx", 77) },
		"foreign": func(fsys *mem.FS) { overwrite(t, fsys, "/packs/000001.idx", []byte("FETTLEINDX1\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			fsys := mem.NewFS(mem.Options{})
			digests := fill(t, open(t, fsys), 0, 500)
			damage(fsys)
			readable(t, open(t, fsys), digests, 0)
		})
	}
}

func TestDamageInAPackIsSeenAndHealed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		fsys := mem.NewFS(mem.Options{})
		digests := fill(t, open(t, fsys), 0, 20)
		flip(t, fsys, "/packs/000001.pack", rng.IntN(1<<20))
		s := open(t, fsys)
		for i, d := range digests {
			got, err := s.ReadObject(d)
			if err == nil && !bytes.Equal(got, packedText(i)) {
				t.Fatal("wrong bytes were given out")
			}
		}
		s.Pack(true)
		for i := range digests {
			must(s.PutBytes(packedText(i)))(t)
		}
		check(t, s.SyncObjects())
		readable(t, open(t, fsys), digests, 0)
	}
}

func TestPacksSurviveAPowerCut(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fsys := mem.NewFS(mem.Options{})
		s := open(t, fsys)
		safe := fill(t, s, 0, 200)
		for i := 200; i < 600; i++ { // put and not synced
			must(s.PutBytes(packedText(i)))(t)
		}
		after := fsys.CrashClone(rng)
		readable(t, open(t, after), safe, 0)
		s = open(t, after)
		for i := 200; i < 600; i++ {
			if got, err := s.ReadObject(journal.DigestOf(packedText(i))); err == nil && !bytes.Equal(got, packedText(i)) {
				t.Fatal("wrong bytes were given out")
			}
		}
		readable(t, s, fill(t, s, 200, 600), 200)
	}
}

func TestAPackThatCannotBeWrittenHidesNothing(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	full := false
	s := open(t, fsys.Counted(func(op, path string) error {
		if full && op == host.OpWrite && strings.HasSuffix(path, ".pack") {
			return errors.New("no room")
		}
		return nil
	}))
	kept := fill(t, s, 0, 50)
	full = true
	lost := must(s.PutBytes(packedText(900)))(t)
	if s.SyncObjects() == nil {
		t.Fatal("the failure was hidden")
	}
	if s.Has(lost) {
		t.Fatal("an object that was never written is there")
	}
	full = false
	readable(t, s, kept, 0)
	readable(t, s, fill(t, s, 900, 901), 900)
}

func TestCollectRewritesAPackThatIsMostlyDead(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	digests := fill(t, s, 0, 100)
	live := digests[:10]
	h := journal.Header{Format: 1, Run: 1, Operation: journal.OpApply, List: live[0], Plan: live[1]}
	j := must(s.Begin(h))(t)
	check(t, j.Append(journal.Record{Kind: journal.Note, Text: strings.Join(live, " ")},
		journal.Record{Kind: journal.Commit, Outcome: journal.Succeeded}))
	check(t, j.Sync())
	check(t, j.Close())
	check(t, s.SaveState(journal.State{Format: 1, Run: 1, List: live[0]}))
	s = open(t, fsys)
	c := must(s.Collect(journal.Retention{Runs: 5}))(t)
	if c.Objects != 90 || c.Bytes == 0 {
		t.Errorf("collected %+v, want 90 objects", c)
	}
	s = open(t, fsys)
	readable(t, s, live, 0)
	if s.Has(digests[50]) {
		t.Error("a dead object is still there")
	}
	if c = must(s.Collect(journal.Retention{Runs: 5}))(t); c.Objects != 0 {
		t.Errorf("collected again: %+v", c)
	}
}

// TestLargeInAPack: the list and the plan of a large run go into its pack too.
func TestLargeInAPack(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	s.Pack(true)
	var digests []string
	large := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, i<<19+i) }
	for i := range 6 { // up to 2.5 MiB
		digests = append(digests, must(s.PutBytes(large(i)))(t), must(s.PutBytes(packedText(i)))(t))
	}
	check(t, s.SyncObjects())
	for _, index := range []bool{true, false} {
		if !index {
			check(t, fsys.Remove("/packs/000001.idx"))
		}
		s = open(t, fsys)
		for i, d := range digests {
			want := packedText(i / 2)
			if i%2 == 0 {
				want = large(i / 2)
			}
			if got := must(s.ReadObject(d))(t); !bytes.Equal(got, want) {
				t.Errorf("object %d came back with %d bytes, want %d", i, len(got), len(want))
			}
		}
	}
	if dirs := must(fsys.ReadDir("/objects"))(t); len(dirs) != 0 {
		t.Errorf("loose objects: %v", dirs)
	}
}

// TestReadBeforeSync: an object of a pack can be read before it is on the disk.
func TestReadBeforeSync(t *testing.T) {
	s := open(t, mem.NewFS(mem.Options{}))
	s.Pack(true)
	for i := range 5 {
		digest := must(s.PutBytes(packedText(i)))(t)
		if got := must(s.ReadObject(digest))(t); !bytes.Equal(got, packedText(i)) {
			t.Errorf("object %d: %q", i, got)
		}
	}
	check(t, s.SyncObjects())
}
