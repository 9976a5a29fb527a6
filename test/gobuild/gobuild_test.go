package gobuild_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"fettle.dev/fettle/test/gobuild"
)

// TestProgram: builds at the same time give the same bytes, and other flags give other bytes.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	flags := map[string][]string{"one": nil, "two": nil, "other": {"-tags", "fettlefault"}}
	var wait sync.WaitGroup
	for name, flags := range flags {
		wait.Go(func() {
			if err := gobuild.Program(filepath.Join(dir, name), gobuild.Target, flags...); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	content := map[string][]byte{}
	for name := range flags {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		content[name] = b
	}
	if !bytes.Equal(content["one"], content["two"]) {
		t.Error("two builds with the same flags differ")
	}
	if bytes.Equal(content["one"], content["other"]) {
		t.Error("the tag did not change the binary")
	}
}

// TestShared: a file that a test changes is not the file that another test gets.
func TestShared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	for range 2 {
		if err := gobuild.Program(file, gobuild.Target); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(b, []byte("\x7fELF")) {
			t.Fatalf("the file is not a binary: %v", err)
		}
		if err := os.WriteFile(file, []byte("changed"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestErrorHasTheOutput(t *testing.T) {
	err := gobuild.Program(filepath.Join(t.TempDir(), "program"), "./absent")
	if err == nil || !bytes.Contains([]byte(err.Error()), []byte("absent")) {
		t.Errorf("error %v", err)
	}
}
