package local_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	hostlocal "fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/test/needs"
)

// commander is an engine for the programs of this machine, with a throwaway state.
func commander(t *testing.T) (executor.Executor, string) {
	t.Helper()
	state := t.TempDir()
	return asked(t, localCommander(t, state)), state
}

func runCommand(t *testing.T, x executor.Executor, c executor.Command,
	show func(executor.Output)) (*executor.CommandResult, journal.Command, error) {
	t.Helper()
	res, err := x.(executor.Commander).Command(context.Background(), c,
		executor.Options{User: "jane", From: "tty", Command: "fettle run"}, show)
	all, herr := x.(executor.Commander).Commands(context.Background())
	if herr != nil || len(all) == 0 {
		t.Fatalf("no history: %v (%v)", herr, err)
	}
	return res, all[len(all)-1], err
}

func TestCommandTellsItsEnd(t *testing.T) {
	x, _ := commander(t)
	for name, c := range map[string]struct {
		argv    []string
		exit    int
		signal  string
		outcome journal.Outcome
	}{
		"succeeds": {[]string{"sh", "-c", "echo out; echo err >&2"}, 0, "", journal.Succeeded},
		"fails":    {[]string{"sh", "-c", "echo out; echo err >&2; exit 7"}, 7, "", journal.Failed},
		"killed":   {[]string{"sh", "-c", "echo out; echo err >&2; kill -TERM $$"}, -1, "terminated", journal.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			res, rec, err := runCommand(t, x, executor.Command{Argv: [][]string{c.argv}}, func(o executor.Output) {
				map[bool]io.Writer{false: &out, true: &errs}[o.Stderr].Write(o.Text)
			})
			if err != nil || res.Exit != c.exit || res.Signal != c.signal || res.Stdout != "out\n" || res.Stderr != "err\n" {
				t.Fatalf("%+v, %v", res, err)
			}
			if out.String() != res.Stdout || errs.String() != res.Stderr {
				t.Errorf("shown: %q, %q", &out, &errs)
			}
			if rec.ID != res.ID || rec.Outcome != c.outcome || rec.Exit != c.exit || rec.User != "jane" ||
				rec.Stdout != "out\n" || rec.Ended == 0 {
				t.Errorf("kept: %+v", rec)
			}
		})
	}
	if runs, err := x.Runs(context.Background()); err != nil || len(runs) > 0 {
		t.Errorf("commands count as runs: %v, %v", runs, err)
	}
}

// TestCommandsStopAtTheFirstFailure runs several, and no more than needed.
func TestCommandsStopAtTheFirstFailure(t *testing.T) {
	x, _ := commander(t)
	res, _, err := runCommand(t, x, executor.Command{Argv: [][]string{{"echo", "1"}, {"false"}, {"echo", "3"}}}, nil)
	if err != nil || res.Exit != 1 || res.Stdout != "1\n" {
		t.Errorf("%+v, %v", res, err)
	}
	if res, _, err := runCommand(t, x, executor.Command{Argv: [][]string{{"no-such-program"}}}, nil); err == nil ||
		!strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestCommandTimeoutEndsTheTree leaves no process behind, in a session of its own or
// not.
func TestCommandTimeoutEndsTheTree(t *testing.T) {
	x, dir := commander(t)
	fifo := filepath.Join(dir, "alive")
	script := `setsid sh -c 'trap "" TERM; echo $$ > ` + fifo + `; sleep 1000' & while [ ! -s ` + fifo +
		` ]; do sleep 0.01; done; sleep 1000`
	res, rec, err := runCommand(t, x, executor.Command{Argv: [][]string{{"sh", "-c", script}}, Timeout: 3 * time.Second},
		nil)
	if err != nil || !res.TimedOut || res.Exit != -1 || rec.Outcome != journal.Failed {
		t.Fatalf("%+v, %v, %+v", res, err, rec)
	}
	pid, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		if st, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); !strings.Contains(string(st), ") Z ") {
			t.Errorf("process %s lives on", pid)
		}
	}
}

// TestCommandCancelled is in the history as interrupted.
func TestCommandCancelled(t *testing.T) {
	x, _ := commander(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := x.(executor.Commander).Command(ctx,
		executor.Command{Argv: [][]string{{"sh", "-c", "echo begun; sleep 1000"}}}, executor.Options{},
		func(executor.Output) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	all, err := x.(executor.Commander).Commands(context.Background())
	if err != nil || all[0].Outcome != journal.Interrupted || all[0].Stdout != "begun\n" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestCommandOutputIsBounded streams more than anybody keeps.
func TestCommandOutputIsBounded(t *testing.T) {
	x, _ := commander(t)
	var shown atomic.Int64
	res, rec, err := runCommand(t, x, executor.Command{ReadOnly: true,
		Argv: [][]string{{"head", "-c", "20000000", "/dev/zero"}}}, func(o executor.Output) { shown.Add(int64(len(o.Text))) })
	if err != nil || shown.Load() != 20000000 {
		t.Fatalf("%d bytes came, %v", shown.Load(), err)
	}
	if len(res.Stdout) > 1<<20+100 || len(rec.Stdout) > 33<<10 || !strings.Contains(rec.Stdout, "bytes cut") {
		t.Errorf("%d bytes given, %d kept", len(res.Stdout), len(rec.Stdout))
	}
}

// TestOnlyWhatChangesTakesTheLock lets those who look go by.
func TestOnlyWhatChangesTakesTheLock(t *testing.T) {
	x, state := commander(t)
	st, err := hostlocal.Open(state, hostlocal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	l, err := st.Lock("/lock", "fettle apply by jane")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run := func(looks bool) error {
		_, err := x.(executor.Commander).Command(context.Background(),
			executor.Command{ReadOnly: looks, Argv: [][]string{{"true"}}}, executor.Options{}, nil)
		return err
	}
	if err := run(true); err != nil {
		t.Errorf("who looks is refused: %v", err)
	}
	if err := run(false); !errors.Is(err, executor.ErrLocked) {
		t.Errorf("who changes is not: %v", err)
	}
}

func fileOf(path, text string) executor.File {
	sum := sha256.Sum256([]byte(text))
	return executor.File{Path: path, Size: int64(len(text)), Digest: "sha256:" + hex.EncodeToString(sum[:])}
}

// TestPut makes a file be in sync, and sends only what differs.
func TestPut(t *testing.T) {
	needs.Root(t) // the file gets the owner root
	x, dir := commander(t)
	path := filepath.Join(dir, "file")
	big := strings.Repeat("fettle ", 2<<20)
	for i, c := range []struct {
		text, mode    string
		changed, sent bool
	}{{"one", "", true, true}, {"one", "", false, false}, {"one", "0600", true, false}, {"two", "", true, true},
		{big, "0640", true, true}, {big, "", false, false}} {
		opened := false
		f := fileOf(path, c.text)
		f.Mode = c.mode
		res, err := x.(executor.Files).Put(context.Background(), f, func() (io.ReadCloser, error) {
			opened = true
			return io.NopCloser(strings.NewReader(c.text)), nil
		}, executor.Options{})
		if err != nil || res.Changed != c.changed || res.Sent != c.sent || opened != c.sent {
			t.Fatalf("%d: %+v, %v, opened: %v", i, res, err, opened)
		}
		var got strings.Builder
		back, err := x.(executor.Files).Get(context.Background(), path, &got)
		if err != nil || got.String() != c.text || back.Digest != f.Digest || c.mode != "" && back.Mode != c.mode {
			t.Fatalf("%d: back came %d bytes, %+v, %v", i, got.Len(), back, err)
		}
	}
}

// TestPutRefuses leaves what is there, and nothing beside it.
func TestPutRefuses(t *testing.T) {
	x, dir := commander(t)
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := entriesOf(t, dir)
	bad := fileOf(path, "what was announced")
	for name, c := range map[string]struct {
		file executor.File
		from func() (io.ReadCloser, error)
	}{
		"changed": {bad, func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("something else, longer")),
				nil
		}},
		"unread":    {bad, func() (io.ReadCloser, error) { return nil, errors.New("it is gone") }},
		"directory": {fileOf(dir, ""), nil},
		"owner":     {executor.File{Path: path, Owner: "nobody-of-that-name"}, nil},
		"mode":      {executor.File{Path: path, Mode: "rw"}, nil},
		"relative":  {executor.File{Path: "file"}, nil},
	} {
		if _, err := x.(executor.Files).Put(context.Background(), c.file, c.from, executor.Options{}); err == nil ||
			!strings.Contains(err.Error(), "cannot ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "old" || fmt.Sprint(entriesOf(t, dir)) != fmt.Sprint(before) {
		t.Errorf("left: %q, %v, %v", text, entriesOf(t, dir), err)
	}
}

// entriesOf lists the files of a directory that are not the engine's own.
func entriesOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if !e.IsDir() && e.Name() != "lock" {
			out = append(out, e.Name())
		}
	}
	return out
}

// TestCommandOnFrozen: a frozen machine refuses what may change it, with who froze it
// and what to type, and leaves no record; what looks runs, and so does all where that
// is said.
func TestCommandOnFrozen(t *testing.T) {
	x, state := commander(t)
	ctx, cx := context.Background(), x.(executor.Commander)
	if err := x.Freeze(ctx, journal.Frozen{By: "ann", Why: "audit"}, executor.Options{}); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(state, "mark")
	touch := executor.Command{Argv: [][]string{{"touch", mark}}}
	_, err := cx.Command(ctx, touch, executor.Options{}, nil)
	if !errors.Is(err, executor.ErrFrozen) || !strings.Contains(err.Error(), "ann") ||
		!strings.Contains(err.Error(), "--ignore-freeze") {
		t.Errorf("it is not refused: %v", err)
	}
	if all, _ := cx.Commands(ctx); len(all) > 0 {
		t.Errorf("a refusal is recorded: %+v", all)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("it ran")
	}
	if res, err := cx.Command(ctx, executor.Command{Argv: [][]string{{"true"}}, ReadOnly: true}, executor.Options{},
		nil); err != nil || !res.OK() {
		t.Errorf("what looks: %v", err)
	}
	if res, err := cx.Command(ctx, touch, executor.Options{IgnoreFreeze: true}, nil); err != nil || !res.OK() {
		t.Errorf("on frozen too: %v", err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
}

// TestHiddenTexts are in nothing that a command shows or records, in that command and
// in those after it.
func TestHiddenTexts(t *testing.T) {
	x, state := commander(t)
	for _, c := range []executor.Command{
		{Argv: [][]string{{"sh", "-c", "echo $T; echo hunter22 >&2; exit 3"}}, Env: []string{"T=Bearer hunter22"},
			Hide: []string{"hunter22"}},
		{Argv: [][]string{{"echo", "hunter22"}}, ReadOnly: true},
	} {
		var shown strings.Builder
		res, rec, err := runCommand(t, x, c, func(o executor.Output) { shown.Write(o.Text) })
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(res, rec, shown.String()); strings.Contains(text, "hunter22") ||
			!strings.Contains(text, "(secret)") {
			t.Errorf("%s", text)
		}
	}
	err := filepath.WalkDir(state, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		if bytes.Contains(text, []byte("hunter22")) {
			t.Errorf("%s has it", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
