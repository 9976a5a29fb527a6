package journal

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

var update = flag.Bool("update", false, "rewrite the golden files; a changed journal needs a new format number")

// TestGolden holds the format: these bytes are on hosts already.
func TestGolden(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s, err := OpenWith(fsys, Options{Now: func() time.Time { return time.Unix(1_700_000_000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Begin(Header{Run: 1, Operation: OpApply, List: DigestOf(nil), Plan: DigestOf([]byte("plan")),
		OnFailure: "stop", OnCrash: "undo", User: "root", From: "tty1", Command: "fettle apply", Version: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	file := new(image.Of(&image.File{Type: image.Regular, Mode: 0o644, Size: 2, MTime: 5,
		Digest: DigestOf([]byte("hi")), Xattrs: map[string][]byte{"user.a": {1}}}))
	recs := [][]Record{
		{{Kind: Move, Batch: 1, Addr: addr.File("/etc/caf\xe9"), Path: "/etc/caf\xe9", Temp: "/etc/.x",
			From: new(image.Of(&image.File{Type: image.Absent})), To: file}},
		{{Kind: Prepared, Batch: 1}},
		{{Kind: Done, Batch: 1}, {Kind: Intent, Change: 1, Addr: "unit:a.service"},
			{Kind: Result, Change: 1, Addr: "unit:a.service", Error: "it failed"}},
	}
	for _, batch := range recs {
		if err := j.Append(batch...); err != nil {
			t.Fatal(err)
		}
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.End(State{Format: 1, Run: 1, List: DigestOf(nil),
		Entries: []Entry{{Addr: addr.File("/etc/caf\xe9"), Step: step.Step{Verb: step.Copy, Args: []string{"…"}}, Run: 1,
			FirstRun: 1, Origin: file}}},
		Record{Kind: Commit, Outcome: Failed}); err != nil {
		t.Fatal(err)
	}
	for path, golden := range map[string]string{journalPath(1): "testdata/golden.wal",
		statePath(1): "testdata/golden.state", "/current": "testdata/golden.current"} {
		got, err := s.readAll(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not %s (%v): the format changed\n%q", path, golden, err, got)
		}
	}
}
