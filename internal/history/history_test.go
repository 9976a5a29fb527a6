package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/history"
)

func entry(command string) history.Entry {
	return history.Entry{At: 1, User: "kim", Command: command, Targets: map[string]string{"web1": "changed"}}
}

func commands(entries []history.Entry) (out []string) {
	for _, e := range entries {
		out = append(out, e.Command)
	}
	return out
}

func ExampleDir_Add() {
	dir, err := os.MkdirTemp("", "history")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	d := history.Dir(dir)
	for _, command := range []string{"fettle plan", "fettle apply"} {
		if err := d.Add(history.Entry{User: "kim", Command: command}); err != nil {
			panic(err)
		}
	}
	all, err := d.Entries()
	for _, e := range history.Newest(all, 1) {
		fmt.Println(e.User, e.Command, err)
	}
	// Output: kim fettle apply <nil>
}

// TestAdd: the directory is created, and only its user can read it.
func TestAdd(t *testing.T) {
	d := history.Dir(filepath.Join(t.TempDir(), "state", "fettle"))
	if all, err := d.Entries(); len(all) > 0 || err != nil {
		t.Errorf("before the first entry: %v, %v", all, err)
	}
	if err := d.Add(entry("c1")); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"": 0o700, "history.jsonl": 0o600} {
		if st, err := os.Stat(filepath.Join(string(d), name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, st, err)
		}
	}
	all, err := d.Entries()
	if err != nil || len(all) != 1 || all[0].Targets["web1"] != "changed" || all[0].At != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestCutLine: a crash costs only the line that it cut off.
func TestCutLine(t *testing.T) {
	d := history.Dir(t.TempDir())
	text := `{"at":1,"command":"c1"}` + "\n" + `{"at":2,"comm` + "\n"
	if err := os.WriteFile(filepath.Join(string(d), "history.jsonl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(entry("c3")); err != nil {
		t.Fatal(err)
	}
	if all, err := d.Entries(); err != nil || !slices.Equal(commands(all), []string{"c1", "c3"}) {
		t.Errorf("%q, %v", commands(all), err)
	}
}

// TestLargeHistory: a new file begins, and the file before it is still read.
func TestLargeHistory(t *testing.T) {
	d := history.Dir(t.TempDir())
	large := strings.Repeat("x", 3<<20)
	for _, name := range []string{"1", "2", "3", "4", "5"} {
		if err := d.Add(entry(name + large)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := d.Entries()
	if err != nil || len(all) != 3 || all[0].Command[0] != '3' || all[2].Command[0] != '5' {
		t.Errorf("%d entries, %v", len(all), err)
	}
}

// TestUnreadableHistory: the error names the history.
func TestUnreadableHistory(t *testing.T) {
	d := history.Dir(t.TempDir())
	if err := os.Mkdir(filepath.Join(string(d), "history.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Entries(); err == nil || !strings.HasPrefix(err.Error(), "cannot read the history") {
		t.Errorf("%v", err)
	}
	if err := d.Add(entry("c1")); err == nil {
		t.Error("added to a directory")
	}
}

// TestNoDirectory: nothing is recorded, and nothing is an error.
func TestNoDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	d := history.Dir("")
	if err := d.Add(entry("c1")); err != nil {
		t.Error(err)
	}
	if err := d.SetLast(history.Repository{}, history.Last{}); err != nil {
		t.Error(err)
	}
	if all, err := d.Entries(); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	if left, err := os.ReadDir("."); len(left) > 0 || err != nil {
		t.Errorf("files in the current directory: %v, %v", left, err)
	}
}

func TestNewest(t *testing.T) {
	all := []history.Entry{entry("1"), entry("2"), entry("3")}
	for limit, want := range map[int]string{-1: "3 2 1", 0: "3 2 1", 2: "3 2", 9: "3 2 1"} {
		if got := strings.Join(commands(history.Newest(all, limit)), " "); got != want {
			t.Errorf("%d: %s", limit, got)
		}
	}
}

// TestLastFailed: each repository has its own last command.
func TestLastFailed(t *testing.T) {
	d := history.Dir(filepath.Join(t.TempDir(), "new"))
	one, other := history.Repository{Top: "/r", Prefix: "."}, history.Repository{Top: "/r", Prefix: "sub"}
	results := map[string]string{"e": "skipped", "b": "failed", "a": "unreachable", "c": "ok", "d": "changed"}
	for _, l := range []history.Last{{Targets: map[string]string{"z": "failed"}}, {Targets: results}} {
		if err := d.SetLast(one, l); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := d.LastFailed(one); err != nil || !slices.Equal(got, []string{"a", "b", "e"}) {
		t.Errorf("%q, %v", got, err)
	}
	_, err := d.LastFailed(other)
	if text, _ := hint.Of(err); err == nil || text != "Name them: -t NAME,…" {
		t.Errorf("a repository without a command: %v", err)
	}
}

// TestDamagedLast: the error names the file.
func TestDamagedLast(t *testing.T) {
	d := history.Dir(t.TempDir())
	r := history.Repository{Top: "/r", Prefix: "."}
	if err := d.SetLast(r, history.Last{}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(string(d), "last-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.LastFailed(r); err == nil || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("%v", err)
	}
}
