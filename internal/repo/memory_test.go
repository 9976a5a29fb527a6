package repo_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/internal/repo"
)

// lookWith is one look at a work tree with the memory of an earlier look.
func lookWith(t *testing.T, dir string, memory []byte, now func() time.Time) (repo.Revision, []byte) {
	t.Helper()
	r, err := repo.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := repo.ParseMemory(memory)
	r.Use(m, now)
	tree, rev, err := r.WorkTree(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	plainRev := lookWithout(t, dir)
	if rev.Digest != plainRev.Digest || rev.Dirty != plainRev.Dirty {
		t.Errorf("with memory: %+v, without: %+v", rev, plainRev)
	}
	if text, err := tree.ReadFile("a/one"); err != nil || len(text) == 0 {
		t.Errorf("a file that was not read yet: %q, %v", text, err)
	}
	return rev, m.Bytes()
}

func lookWithout(t *testing.T, dir string) repo.Revision {
	t.Helper()
	r, err := repo.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, rev, err := r.WorkTree(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return rev
}

func later() time.Time { return time.Now().Add(time.Hour) }

// TestMemory: looks with and without memory have the same result after every change. A look records
// only new information.
func TestMemory(t *testing.T) {
	g := newGit(t)
	g.write("a/one", "first\n")
	g.write("b/two", "second\n")
	g.git("add", ".")
	g.git("commit", "-q", "-m", "x")
	clean, memory := lookWith(t, g.dir, nil, later)
	if clean.Dirty || memory == nil {
		t.Fatalf("dirty %v, %d bytes remembered", clean.Dirty, len(memory))
	}
	if _, more := lookWith(t, g.dir, memory, later); more != nil {
		t.Error("files that are as they were are read again")
	}
	steps := []func(){
		func() { g.write("a/one", "fIrst\n") }, // as many bytes
		func() { g.write("c/three", "new\n") },
		func() { must(t, os.Remove(filepath.Join(g.dir, "b/two"))) },
		func() { must(t, os.Chmod(filepath.Join(g.dir, "a/one"), 0o755)) },
		func() {
			must(t, os.Rename(filepath.Join(g.dir, "c/three"), filepath.Join(g.dir, "a/one")))
		},
		func() { g.git("checkout", "-q", "--", "."); must(t, os.RemoveAll(filepath.Join(g.dir, "c"))) },
	}
	for i, step := range steps {
		step()
		rev, more := lookWith(t, g.dir, memory, later)
		if want := i < len(steps)-1; rev.Dirty != want {
			t.Errorf("after step %d: dirty is %v", i, rev.Dirty)
		}
		if more == nil {
			t.Errorf("after step %d: nothing new was remembered", i)
		}
		memory = more
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMemoryOfYoungFiles: a file that changed a moment ago is read again.
func TestMemoryOfYoungFiles(t *testing.T) {
	g := newGit(t)
	g.write("a/one", "first\n")
	info, err := os.Stat(filepath.Join(g.dir, "a/one"))
	must(t, err)
	young := func() time.Time { return info.ModTime().Add(time.Millisecond) }
	_, memory := lookWith(t, g.dir, nil, young)
	_, second := lookWith(t, g.dir, memory, later)
	if second == nil {
		t.Error("it was remembered though it could have changed unseen")
	}
	if _, third := lookWith(t, g.dir, second, later); third != nil {
		t.Error("it is not remembered later either")
	}
}

// TestDamagedMemory: a damaged memory counts as an empty memory.
func TestDamagedMemory(t *testing.T) {
	g := newGit(t)
	g.write("a/one", "first\n")
	_, memory := lookWith(t, g.dir, nil, later)
	for _, b := range [][]byte{nil, []byte("x"), memory[:len(memory)/2], bytes.Repeat([]byte{0xff}, 100)} {
		if _, again := lookWith(t, g.dir, b, later); again == nil {
			t.Errorf("%d bytes of damage were believed", len(b))
		}
	}
}
