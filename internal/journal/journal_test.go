package journal_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

func fixedNow() time.Time { return time.Unix(1_700_000_000, 5).UTC() }

func open(t testing.TB, fsys host.FS) *journal.Store {
	t.Helper()
	s, err := journal.OpenWith(fsys, journal.Options{Now: fixedNow, Ballast: 4096})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func header(run, base int) journal.Header {
	return journal.Header{Format: 1, Run: run, Base: base, Operation: journal.OpApply,
		List: journal.DigestOf([]byte("list")), OnFailure: "stop", OnCrash: "undo", User: "root", Command: "fettle apply"}
}

func move(i int) journal.Record {
	p := fmt.Sprintf("/etc/app.d/%05d.conf", i)
	from := new(image.Of(&image.File{Type: image.Absent}))
	to := new(image.Of(&image.File{Type: image.Regular, Mode: 0o644, Size: 1234, MTime: 1_700_000_000_000_000_000,
		Digest: journal.DigestOf([]byte(p))}))
	return journal.Record{Kind: journal.Move, Change: i, Addr: addr.File(p), Path: p, Temp: p + ".fettle-7~", From: from,
		To: to}
}

// finish runs a whole run with n moves and saves its state.
func finish(t testing.TB, s *journal.Store, run, base, n int) {
	t.Helper()
	j := must(s.Begin(header(run, base)))(t)
	for i := range n {
		check(t, j.Append(move(i)))
	}
	check(t, end(j, journal.State{Format: 1, Run: run, Complete: true}, journal.Commit))
	check(t, j.Close())
}

// end ends a run.
func end(j *journal.Journal, st journal.State, kind journal.RecordKind) error {
	return j.End(st, journal.Record{Kind: kind, Outcome: journal.Succeeded})
}

func TestRoundTrip(t *testing.T) {
	s := open(t, mem.NewFS(mem.Options{}))
	j := must(s.Begin(header(1, 0)))(t)
	odd := move(1)
	odd.Path, odd.Addr = "/srv/caf\xe9\U0010FF90\ufffd<&>", addr.File("/srv/caf\xe9")
	odd.From = new(image.Of(&image.File{Type: image.Symlink, Target: "\xff\xfe",
		Xattrs: map[string][]byte{"user.\xe9": {0, 255}}, Entries: []string{"\x80"}}))
	want := []journal.Record{move(0), odd, {Kind: journal.Note, Text: "a\x00b"}}
	check(t, j.Append(want...))
	check(t, j.Sync())
	check(t, j.Append(journal.Record{Kind: journal.Commit, Outcome: journal.Succeeded}))
	check(t, j.Sync())
	check(t, j.Close())
	got := must(s.Read(1))(t)
	if len(got) != 5 || got[0].Kind != journal.Begin || got[4].Summary.Changed != 2 || got[4].Synced != 4 {
		t.Fatalf("got %+v", got)
	}
	for i, w := range want {
		w.Seq, w.At = uint64(i+2), fixedNow().UnixNano()
		if i == 0 {
			w.Synced = 1
		}
		if !reflect.DeepEqual(got[i+1], w) {
			t.Errorf("record %d: got %+v, want %+v", i, got[i+1], w)
		}
	}
}

func TestRefusals(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	j := must(s.Begin(header(1, 0)))(t)
	var unfinished *journal.UnfinishedError
	if _, err := s.Begin(header(2, 0)); !errors.As(err, &unfinished) || unfinished.Run != 1 {
		t.Errorf("Begin beside an open run: %v", err)
	}
	check(t, j.Append(journal.Record{Kind: journal.Undone, Outcome: journal.RolledBack}))
	if err := j.Append(journal.Record{Kind: journal.Note}); err == nil {
		t.Error("a record after the end was taken")
	}
	if err := j.Sync(); err == nil {
		t.Error("Sync works after a failed Append")
	}
	if _, err := s.Read(9); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of no run: %v", err)
	}
	if _, err := s.Begin(journal.Header{}); err == nil {
		t.Error("run 0 began")
	}
}

func TestNewerFormats(t *testing.T) {
	var newer *journal.NewerFormatError
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	finish(t, s, 1, 0, 1)
	overwrite(t, fsys, "/journal/000001.wal", []byte("FETTLEWAL2\nwhatever"))
	if _, err := s.Read(1); !errors.As(err, &newer) {
		t.Errorf("newer journal: %v", err)
	}
	check(t, s.SaveState(journal.State{Run: 1, Format: 2}))
	if _, err := s.StateAt(1); !errors.As(err, &newer) {
		t.Errorf("newer state: %v", err)
	}
	overwrite(t, fsys, "/format", []byte("2\n"))
	if _, err := journal.Open(fsys); !errors.As(err, &newer) {
		t.Errorf("newer directory: %v", err)
	}
}

func TestSyncFailureKills(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	fail := false
	s := open(t, fsys.Counted(func(op, path string) error {
		if fail && op == host.OpSync {
			return errors.New("disk on fire")
		}
		return nil
	}))
	j := must(s.Begin(header(1, 0)))(t)
	check(t, j.Append(move(0)))
	fail = true
	if err := j.Sync(); err == nil {
		t.Fatal("Sync hides the failure")
	}
	fail = false
	if j.Sync() == nil || j.Append(move(1)) == nil {
		t.Fatal("a dead journal goes on")
	}
	check(t, j.Close())
	j2, recs, err := s.Resume(1)
	check(t, err)
	check(t, j2.Append(move(1)))
	check(t, j2.Sync())
	if got := must(s.Read(1))(t); len(got) != len(recs)+1 {
		t.Fatalf("%d records after %d", len(got), len(recs))
	}
}

func TestResumeCutsTornTail(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	j := must(s.Begin(header(1, 0)))(t)
	check(t, j.Append(move(0), move(1)))
	check(t, j.Sync())
	check(t, j.Close())
	b := content(t, fsys, "/journal/000001.wal")
	torn := append(b[:len(b)-3], make([]byte, 5000)...)
	overwrite(t, fsys, "/journal/000001.wal", torn)
	if run, ok, err := s.Unfinished(); run != 1 || !ok || err != nil {
		t.Fatal(run, ok, err)
	}
	j, recs, err := s.Resume(1)
	check(t, err)
	if len(recs) != 2 {
		t.Fatalf("%d records", len(recs))
	}
	check(t, j.Append(move(7), journal.Record{Kind: journal.Commit, Outcome: journal.Succeeded}))
	check(t, j.Sync())
	check(t, j.Close())
	if after := content(t, fsys, "/journal/000001.wal"); len(after) >= len(torn) {
		t.Errorf("the torn tail is still there: %d bytes", len(after))
	}
	got := must(s.Read(1))(t)
	if len(got) != 4 || got[2].Change != 7 || got[3].Summary.Changed != 2 {
		t.Fatalf("%+v", got)
	}
	if _, _, err := s.Resume(1); err == nil {
		t.Error("an ended run was resumed")
	}
}

func TestRuns(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	for run := 1; run <= 3; run++ {
		finish(t, s, run, run-1, 200)
	}
	j := must(s.Begin(header(4, 3)))(t)
	check(t, j.Append(move(0), journal.Record{Kind: journal.Result, Addr: "unit:x", Error: "no"}))
	check(t, j.Sync())
	overwrite(t, fsys, "/journal/000005.wal", []byte("FETT")) // torn before Begin was durable
	infos := must(s.Runs())(t)
	if len(infos) != 4 || infos[2].Changed != 200 || infos[2].Outcome != journal.Succeeded || infos[2].Started == 0 ||
		infos[2].Ended == 0 {
		t.Fatalf("%+v", infos)
	}
	if last := infos[3]; last.Outcome != "" || last.Changed != 1 || last.Error != "no" || last.Header.Base != 3 {
		t.Errorf("%+v", last)
	}
	if n := must(s.NextRun())(t); n != 6 {
		t.Errorf("next run %d", n)
	}
	if run, ok, err := s.Unfinished(); run != 4 || !ok || err != nil {
		t.Error(run, ok, err)
	}
}

func TestFullDiskTakesTheBallast(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	full := false
	s := open(t, fsys.Counted(func(op, path string) error {
		if ok, _ := host.Exists(fsys, "/ballast"); full && ok && op == host.OpWrite {
			return syscall.ENOSPC
		}
		return nil
	}))
	check(t, s.EnsureBallast())
	check(t, s.EnsureBallast())
	j := must(s.Begin(header(1, 0)))(t)
	full = true
	check(t, j.Append(move(0), journal.Record{Kind: journal.Commit}))
	check(t, j.Sync())
	if ok, _ := host.Exists(fsys, "/ballast"); ok {
		t.Error("the ballast is still there")
	}
	if got := must(s.Read(1))(t); len(got) != 3 {
		t.Errorf("%d records", len(got))
	}
}

func content(t testing.TB, fsys host.FS, path string) []byte {
	t.Helper()
	f := must(fsys.Open(path))(t)
	defer f.Close()
	return must(io.ReadAll(f))(t)
}

func overwrite(t testing.TB, fsys host.FS, path string, b []byte) {
	t.Helper()
	_ = fsys.Remove(path)
	f := must(fsys.Create(path))(t)
	defer f.Close()
	must(f.Write(b))(t)
}

func flip(t testing.TB, fsys host.FS, path string, at int) {
	t.Helper()
	b := content(t, fsys, path)
	b[at%len(b)] ^= 1 << (at % 8)
	overwrite(t, fsys, path, b)
}
