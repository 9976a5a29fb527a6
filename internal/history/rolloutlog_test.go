package history_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/history"
	"fettle.dev/fettle/internal/host"
)

// TestLog: lines are kept, one that a crash cut off is removed, and two processes cannot use a log.
func TestLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "rollout-1.jsonl")
	open := func() *history.Log {
		l, err := history.OpenLog(file, "jane")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	var locked *host.LockedError
	if _, err := history.OpenLog(file, "kim"); !errors.As(err, &locked) || locked.Holder != "jane" {
		t.Errorf("a second process: %v", err)
	}
	if err := errors.Join(l.Append([]byte("a\nb\n")), l.Append([]byte("cut off")), l.Close(), l.Close()); err != nil {
		t.Fatal(err)
	}
	l = open()
	if err := errors.Join(l.Append([]byte("c\n")), l.Close()); err != nil || len(l.Lines) != 2 {
		t.Fatalf("%q, %v", l.Lines, err)
	}
	if text, err := os.ReadFile(file); string(text) != "a\nb\nc\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	l = open()
	if err := errors.Join(l.Clear(), l.Append([]byte("d\n")), l.Close()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); string(text) != "d\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
