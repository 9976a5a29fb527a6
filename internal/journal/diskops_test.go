package journal_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

const diskOperationsFile = "testdata/disk-operations.txt"

// diskCall is a call of the store on the world of readWorld.
type diskCall struct {
	name string
	// before changes the files first, without the store.
	before func(t *testing.T, fsys *mem.FS)
	// begin are calls before the call itself; their operations are neither listed nor broken.
	begin func(s *journal.Store) error
	call  func(s *journal.Store) error
	// gradual calls do several independent things, so an error leaves some of them done.
	gradual bool
}

var diskCalls = []diskCall{
	{name: "reserve the ballast", call: (*journal.Store).EnsureBallast},
	{name: "reserve it again", begin: (*journal.Store).EnsureBallast, call: (*journal.Store).EnsureBallast},
	{name: "reserve it where a smaller one exists", call: (*journal.Store).EnsureBallast,
		before: func(t *testing.T, fsys *mem.FS) { create(t, fsys, "/ballast", "small") }},
	{name: "reserve it where a directory is", call: (*journal.Store).EnsureBallast,
		before: func(t *testing.T, fsys *mem.FS) { check(t, fsys.Mkdir("/ballast", 0o700)) }},
	{name: "release the ballast", begin: (*journal.Store).EnsureBallast, call: (*journal.Store).ReleaseBallast},
	{name: "store an object", call: putAll("one")},
	{name: "store objects in several directories", call: putAll("one", "loose", "two", "three", "four")},
	{name: "store a large object", call: putAll(string(largeText()))},
	{name: "store packed objects", begin: pack, call: putAll("one", "two", "three")},
	{name: "store more packed objects", begin: both(pack, putAll("one")), call: putAll("two", "one")},
	{name: "store packed objects again", begin: pack, call: putAll(string(packedText(4)), "loose")},
	{name: "sync without new objects", begin: both(pack, putAll("one")), call: putAll()},
	{name: "store packed and separate objects", call: putMixed("one", "alike 42", "two", "three")},
	{name: "store a separate object after packed ones", begin: putMixed("one", "alike 42", "two", "three"),
		call: putAll("alike 341")},
	{name: "keep a part", call: func(s *journal.Store) error {
		return s.SavePartial(journal.DigestOf([]byte("whole")), strings.NewReader("who"))
	}},
	{name: "keep another part", begin: func(s *journal.Store) error {
		return s.SavePartial(journal.DigestOf([]byte("older")), strings.NewReader("old"))
	}, call: func(s *journal.Store) error {
		return s.SavePartial(journal.DigestOf([]byte("whole")), strings.NewReader("who"))
	}},
	{name: "resume, end with a commit, and begin another run", gradual: true, call: func(s *journal.Store) error {
		j, _, err := s.Resume(3)
		if err == nil {
			err = end(j, journal.State{Format: 1, Run: 3}, journal.Commit)
		}
		if err == nil {
			j, err = s.Begin(header(4, 3))
		}
		if err == nil {
			err = errors.Join(j.Append(move(1)), j.Sync(), j.Close())
		}
		return err
	}},
	{name: "resume and end as undone", gradual: true, call: endUndone},
	{name: "save a state", call: func(s *journal.Store) error {
		return s.SaveState(journal.State{Format: 1, Run: 2, Complete: true})
	}},
	{name: "repair an intact state", call: repair},
	{name: "repair a lost pointer", call: repair, before: remove("/journal/000003.wal", "/current")},
	{name: "repair a lost state", call: repair, before: remove("/state/000002.json")},
	{name: "repair a lost pointer and a lost state", call: repair,
		before: remove("/journal/000003.wal", "/current", "/state/000002.json")},
	{name: "freeze", call: func(s *journal.Store) error { return s.Freeze(journal.Frozen{By: "bob"}) }},
	{name: "unfreeze", call: (*journal.Store).Unfreeze},
	{name: "arm", call: func(s *journal.Store) error { return s.Arm(journal.Arming{Run: 2, Deadline: 9}) }},
	{name: "disarm", call: (*journal.Store).Disarm},
	{name: "save the first key", call: saveKey("new")},
	{name: "save another key", begin: saveKey("old"), call: saveKey("new")},
	{name: "save the same key", begin: saveKey("new"), call: saveKey("new")},
	{name: "begin the first command", call: beginCommand},
	{name: "begin another command", begin: beginCommand, call: beginCommand},
	{name: "end a command", begin: beginCommand, call: endCommand},
	{name: "recover an ended command", begin: both(beginCommand, endCommand), call: (*journal.Store).RecoverCommands},
	{name: "recover a command", begin: beginCommand, call: (*journal.Store).RecoverCommands},
	{name: "collect", begin: forCollection, gradual: true, call: collect},
	{name: "collect a state whose journal was lost", begin: both((*journal.Store).Disarm, endUndone), gradual: true,
		call: collect, before: remove("/journal/000001.wal")},
	{name: "collect where a state that is needed was lost", begin: both((*journal.Store).Disarm, endUndone), gradual: true,
		call: collect, before: remove("/state/000002.json")},
	{name: "collect with an armed run", begin: endUndone, gradual: true, call: collect},
	{name: "begin a run after the newest journals were lost", before: remove("/journal/000003.wal", "/journal/000002.wal"),
		call: func(s *journal.Store) error {
			n, err := s.NextRun()
			if err == nil && n != 3 {
				err = fmt.Errorf("the next run is %d", n)
			}
			return err
		}},
	{name: "collect nothing", gradual: true, call: func(s *journal.Store) error {
		_, err := s.Collect(journal.Retention{Runs: 9})
		return err
	}},
}

// endUndone resumes the open run and ends it without a change.
func endUndone(s *journal.Store) error {
	j, _, err := s.Resume(3)
	if err != nil {
		return err
	}
	return errors.Join(end(j, journal.State{Format: 1, Run: 3}, journal.Undone), j.Close())
}

// forCollection ends the open run, and adds what a collection removes.
func forCollection(s *journal.Store) error {
	part := journal.DigestOf([]byte("whole"))
	return errors.Join(s.Disarm(), endUndone(s), putAll("unused")(s), s.SavePartial(part, strings.NewReader("who")))
}

func pack(s *journal.Store) error { s.Pack(true); return nil }

func both(one, two func(s *journal.Store) error) func(s *journal.Store) error {
	return func(s *journal.Store) error { return errors.Join(one(s), two(s)) }
}

func putAll(texts ...string) func(s *journal.Store) error {
	return func(s *journal.Store) error {
		for _, text := range texts {
			if _, _, err := s.Put(strings.NewReader(text)); err != nil {
				return err
			}
		}
		return s.SyncObjects()
	}
}

// putMixed stores objects of which every second one is not packed.
func putMixed(texts ...string) func(s *journal.Store) error {
	return func(s *journal.Store) error {
		var errs []error
		for i, text := range texts {
			s.Pack(i%2 == 0)
			_, err := s.PutBytes([]byte(text))
			errs = append(errs, err)
		}
		return errors.Join(append(errs, s.SyncObjects())...)
	}
}

func repair(s *journal.Store) error { _, err := s.RepairState(); return err }

func saveKey(text string) func(s *journal.Store) error {
	return func(s *journal.Store) error { return s.SaveKey("host.age", []byte(text)) }
}

func beginCommand(s *journal.Store) error {
	_, err := s.BeginCommand(journal.Command{Argv: [][]string{{"true"}}, Deadline: 1})
	return err
}

func endCommand(s *journal.Store) error {
	return s.EndCommand(journal.Command{ID: 1, Argv: [][]string{{"true"}}, Outcome: journal.Succeeded})
}

func collect(s *journal.Store) error { _, err := s.Collect(journal.Retention{Runs: 1}); return err }

func remove(paths ...string) func(t *testing.T, fsys *mem.FS) {
	return func(t *testing.T, fsys *mem.FS) {
		for _, p := range paths {
			check(t, fsys.Remove(p))
		}
	}
}

func create(t *testing.T, fsys *mem.FS, path, text string) {
	f := must(fsys.Create(path))(t)
	_, err := f.Write([]byte(text))
	check(t, errors.Join(err, f.Sync(), f.Close(), fsys.SyncDir("/")))
}

// TestDiskOperations lists what each call changes on the disk, in order, and breaks each of these operations. An error
// is returned, unless the list says that the call continues without the operation. What the store says is then as
// before the call or as after it.
func TestDiskOperations(t *testing.T) {
	world, _, _ := readWorld(t)
	var out bytes.Buffer
	for _, c := range diskCalls {
		all, changed := c.play(t, world, -1)
		if changed.err != nil {
			t.Fatalf("%s: %v", c.name, changed.err)
		}
		_, unchanged := c.play(t, world, 0)
		fmt.Fprintf(&out, "%s\n", c.name)
		for n, op := range all {
			mark := ""
			broken, got := c.play(t, world, n+1)
			switch {
			case got.err == nil:
				mark = " # may fail"
			case c.withFullDisk(t, world, n+1, changed):
				mark = " # repeated with the space of the ballast"
			case !errors.Is(got.err, syscall.EIO):
				mark = " # fails with another error: " + got.err.Error()
			}
			half := !c.gradual && got.said != changed.said && got.said != unchanged.said
			if half || got.err == nil && got.said != changed.said {
				t.Errorf("%s: without %q it says\n%s\nbefore\n%s\nafter\n%s", c.name, op, got.said, unchanged.said, changed.said)
			}
			if len(broken) > len(all)+8 {
				t.Errorf("%s: without %q it does not stop: %q", c.name, op, broken)
			}
			fmt.Fprintf(&out, "\t%s%s\n", op, mark)
		}
	}
	compareFile(t, diskOperationsFile, out.Bytes())
}

// TestErrorAtEveryLookOfACall breaks each read of each call: the error is returned, or the call changes the same.
func TestErrorAtEveryLookOfACall(t *testing.T) {
	world, _, _ := readWorld(t)
	for _, c := range diskCalls {
		want, changed := c.look(t, world, 0)
		for at := 1; ; at++ {
			l, got := c.look(t, world, at)
			if l.Hit() == "" {
				break
			}
			if got.err == nil && got.said != changed.said {
				t.Errorf("%s: %s fails without an error:\n%s\nwant\n%s", c.name, l.Hit(), got.said, changed.said)
			}
			if l.Seen() > want.Seen()+50 {
				t.Errorf("%s: %s fails, and %d reads follow", c.name, l.Hit(), l.Seen())
			}
		}
	}
}

// look breaks the read with number at; 0 breaks none.
func (c diskCall) look(t *testing.T, world *mem.FS, at int) (*fault.Looks, played) {
	t.Helper()
	fsys := world.CrashClone(rand.New(rand.NewPCG(1, 1)))
	if c.before != nil {
		c.before(t, fsys)
	}
	l := &fault.Looks{FS: fsys}
	s := must(journal.OpenWith(l, journal.Options{Now: fixedNow, Ballast: 4096}))(t)
	if c.begin != nil {
		check(t, c.begin(s))
	}
	if at > 0 {
		l.At = l.Seen() + at
	}
	err := c.call(s)
	return l, played{err: err, said: told(t, fsys)}
}

// played is the result of a call, and what the store says afterwards.
type played struct {
	err  error
	said string
}

// withFullDisk returns true if the call succeeds although the operation with number at first has no space.
func (c diskCall) withFullDisk(t *testing.T, world *mem.FS, at int, changed played) bool {
	t.Helper()
	full := c
	full.begin = func(s *journal.Store) error {
		err := s.EnsureBallast()
		if err == nil && c.begin != nil {
			err = c.begin(s)
		}
		return err
	}
	ops, got := full.playWith(t, world, at, syscall.ENOSPC)
	return len(ops) > at && got.err == nil && got.said == changed.said
}

// play breaks the operation with number at: -1 breaks none, and 0 leaves out the call.
func (c diskCall) play(t *testing.T, world *mem.FS, at int) (ops []string, p played) {
	t.Helper()
	return c.playWith(t, world, at, syscall.EIO)
}

func (c diskCall) playWith(t *testing.T, world *mem.FS, at int, failure error) (ops []string, p played) {
	t.Helper()
	fsys := world.CrashClone(rand.New(rand.NewPCG(1, 1)))
	if c.before != nil {
		c.before(t, fsys)
	}
	listening := false
	s := must(journal.OpenWith(fsys.Counted(func(op, path string) error {
		if !listening {
			return nil
		}
		ops = append(ops, op+" "+path)
		if len(ops) == at {
			return failure
		}
		return nil
	}), journal.Options{Now: fixedNow, Ballast: 4096}))(t)
	if c.begin != nil {
		check(t, c.begin(s))
	}
	if listening = true; at != 0 {
		p.err = c.call(s)
	}
	listening = false
	p.said = told(t, fsys)
	return ops, p
}

// told returns what a store says about its runs, states, settings and objects.
func told(t *testing.T, fsys host.FS) string {
	t.Helper()
	s := open(t, fsys)
	var out strings.Builder
	ask := func(name string, v any, err error) { fmt.Fprintf(&out, "  %s: %+v %v\n", name, v, err) }
	st, err := s.State()
	ask("state", st, err)
	for run := range 4 {
		st, err := s.StateAt(run)
		ask(fmt.Sprint("state ", run), st.Run, err)
	}
	_, err = s.Key("missing")
	ask("a missing key", errors.Is(err, fs.ErrNotExist), nil)
	runs, err := s.Runs()
	ask("runs", runs, err)
	frozen, err := s.Frozen()
	ask("frozen", frozen != nil && frozen.By == "bob", err)
	ask("frozen at all", frozen != nil, err)
	armed, err := s.ArmedRun()
	ask("armed", fmt.Sprintf("%+v", armed), err)
	commands, err := s.Commands()
	ask("commands", commands, err)
	for _, name := range s.Keys() {
		key, err := s.Key(name)
		ask("key "+name, string(key), err)
	}
	return out.String()
}

// compareFile compares text with a golden file, or writes the file with -update.
func compareFile(t *testing.T, file string, text []byte) {
	t.Helper()
	if flag.Lookup("update").Value.String() == "true" {
		check(t, os.WriteFile(file, text, 0o644))
		return
	}
	want := must(os.ReadFile(file))(t)
	if bytes.Equal(text, want) {
		return
	}
	was := strings.Split(string(want), "\n")
	for i, line := range strings.Split(string(text), "\n") {
		if i >= len(was) || was[i] != line {
			was = append(was, make([]string, i+1)...)
			t.Fatalf("%s:%d: got %q, want %q; -update rewrites the file", file, i+1, line, was[i])
		}
	}
	t.Fatalf("%s has more lines", file)
}

// TestKeys: keys are listed by name, without what an interrupted SaveKey left.
func TestKeys(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	check(t, errors.Join(s.SaveKey("b", nil), s.SaveKey("a", []byte("x"))))
	create(t, fsys, "/keys/c.tmp", "half")
	if got := fmt.Sprint(s.Keys()); got != "[a b]" {
		t.Errorf("the keys are %s", got)
	}
}
