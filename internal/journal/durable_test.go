package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// alike gives n texts whose objects would stand in the same directory.
func alike(n int) (texts []string) {
	for i := 0; len(texts) < n; i++ {
		if t := fmt.Sprint("alike ", i); strings.HasPrefix(journal.DigestOf([]byte(t)), "sha256:00") {
			texts = append(texts, t)
		}
	}
	return texts
}

// TestDirectoryOfAnObjectIsDurable: the first object in a directory makes its entry durable too, also
// when a pack has one of the same directory; the second need not do so again.
func TestDirectoryOfAnObjectIsDurable(t *testing.T) {
	texts := alike(3)
	for _, first := range []string{"in a pack", "in a file"} {
		fsys := mem.NewFS(mem.Options{})
		var ops []string
		s := open(t, fsys.Counted(func(op, path string) error {
			ops = append(ops, op+" "+path)
			return nil
		}))
		s.Pack(first == "in a pack")
		for _, text := range texts {
			ops = nil
			must(s.PutBytes([]byte(text)))(t)
			check(t, s.SyncObjects())
			s.Pack(false)
		}
		if strings.Contains(strings.Join(ops, "\n"), host.OpSyncDir+" /objects\n") ||
			strings.HasSuffix(ops[len(ops)-1], " /objects") {
			t.Errorf("the first %s: the directory is made durable again: %q", first, ops)
		}
		for seed := range uint64(20) {
			after := open(t, fsys.CrashClone(rand.New(rand.NewPCG(seed, 2))))
			for _, text := range texts {
				if err := after.Verify(journal.DigestOf([]byte(text))); err != nil {
					t.Fatalf("the first %s: %q is lost after a power cut: %v", first, text, err)
				}
			}
		}
	}
}

// TestSyncOfNothing: durable data is not synced again.
func TestSyncOfNothing(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	ops := 0
	s := open(t, fsys.Counted(func(string, string) error { ops++; return nil }))
	must(s.PutBytes([]byte("object")))(t)
	j := must(s.Begin(header(1, 0)))(t)
	check(t, errors.Join(s.SyncObjects(), j.Append(move(1)), j.Sync()))
	ops = 0
	check(t, errors.Join(j.Sync(), s.SyncObjects(), j.Append(), j.Sync()))
	if ops > 0 {
		t.Errorf("%d operations for nothing", ops)
	}
	check(t, j.Close())
}

// TestFailedRewriteHidesNothing: a collection that cannot write the pack which
// the live objects move into leaves them where they were, for this process too.
func TestFailedRewriteHidesNothing(t *testing.T) {
	for _, op := range []string{host.OpCreate, host.OpWrite, host.OpSync} {
		fsys := mem.NewFS(mem.Options{})
		digests := fill(t, open(t, fsys), 0, 100)
		live := digests[:10]
		s := open(t, fsys)
		j := must(s.Begin(journal.Header{Format: 1, Run: 1, Operation: journal.OpApply, List: live[0], Plan: live[1]}))(t)
		check(t, j.Append(journal.Record{Kind: journal.Note, Text: strings.Join(live, " ")},
			journal.Record{Kind: journal.Commit, Outcome: journal.Succeeded}))
		check(t, errors.Join(j.Sync(), j.Close(), s.SaveState(journal.State{Format: 1, Run: 1, List: live[0]})))
		broken := errors.New("broken")
		s = open(t, fsys.Counted(func(o, path string) error {
			if o == op && strings.HasSuffix(path, ".pack") {
				return broken
			}
			return nil
		}))
		if _, err := s.Collect(journal.Retention{Runs: 1}); !errors.Is(err, broken) {
			t.Errorf("%s fails: %v", op, err)
		}
		readable(t, s, live, 0)
		readable(t, open(t, fsys), digests, 0)
	}
}

// TestFailedPackSyncForgets: content in a pack that could not be made durable is lost, and a
// repeated Put writes it into another pack. A second sync of the same file could succeed without
// writing anything.
func TestFailedPackSyncForgets(t *testing.T) {
	for _, op := range []string{host.OpSync, host.OpSyncDir} {
		fsys := mem.NewFS(mem.Options{})
		fail := false
		var synced []string
		s := open(t, fsys.Counted(func(o, path string) error {
			if o == host.OpSync {
				synced = append(synced, path)
			}
			if fail && o == op {
				return errors.New("disk on fire")
			}
			return nil
		}))
		s.Pack(true)
		synced = nil
		lost := must(s.PutBytes(packedText(7)))(t)
		fail = true
		if err := s.SyncObjects(); err == nil || !strings.Contains(err.Error(),
			"no object of this batch was stored: disk on fire") {
			t.Errorf("%s fails: %v", op, err)
		}
		if fail = false; s.Has(lost) {
			t.Errorf("%s fails, and the object passes for being there", op)
		}
		check(t, s.SyncObjects())
		readable(t, s, fill(t, s, 7, 8), 7)
		if len(synced) != 2 || synced[0] == synced[1] {
			t.Errorf("%s fails: synced %q", op, synced)
		}
	}
}

// TestSmallObjectsShareAWrite: a pack is not written object by object.
func TestSmallObjectsShareAWrite(t *testing.T) {
	writes := 0
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys.Counted(func(op, path string) error {
		if op == host.OpWrite && strings.HasSuffix(path, ".pack") {
			writes++
		}
		return nil
	}))
	if fill(t, s, 0, 100); writes != 1 {
		t.Errorf("%d writes for a hundred small objects", writes)
	}
}
