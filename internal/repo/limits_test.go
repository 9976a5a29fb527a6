package repo_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/repo"
)

// limited opens a repository and reads it both ways.
func limited(t *testing.T, dir string, limits repo.Limits, rev string) error {
	t.Helper()
	r, err := repo.OpenWith(t.Context(), dir, limits)
	if err != nil {
		return err
	}
	defer r.Close()
	if rev != "" {
		_, _, err = r.At(t.Context(), rev)
		return err
	}
	_, _, err = r.WorkTree(t.Context())
	return err
}

func TestLimits(t *testing.T) {
	g := newGit(t)
	for i := range 5 {
		g.write(fmt.Sprintf("d/f%d", i), strings.Repeat(fmt.Sprint(i), 400<<10))
	}
	g.commit("c")
	for _, rev := range []string{"main", ""} {
		for _, c := range []struct {
			limits repo.Limits
			want   []string
		}{
			{repo.Limits{Files: 5, FileSize: 1 << 20, Total: 5 * 400 << 10}, nil},
			{repo.Limits{Files: 4}, []string{"more than 4 files", "--max-files 8"}},
			{repo.Limits{FileSize: 300 << 10}, []string{`"d/f0"`, "409600 bytes", "--max-file-size 1MiB"}},
			{repo.Limits{FileSize: 1 << 20, Total: 1 << 20}, []string{`"d/f2"`, "all files together", "1MiB"}},
		} {
			err := limited(t, g.dir, c.limits, rev)
			if c.want != nil {
				wantErr(t, err, c.want...)
			} else if err != nil {
				t.Errorf("%q %+v: %v", rev, c.limits, err)
			}
		}
	}
	plain := t.TempDir()
	for i := range 3 {
		if err := os.WriteFile(fmt.Sprintf("%s/f%d", plain, i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wantErr(t, limited(t, plain, repo.Limits{Files: 2}, ""), "more than 2 files")
}

// A pipe instead of one of git's files does not block fettle permanently.
func TestPipesDoNotHang(t *testing.T) {
	for _, name := range []string{".gitignore", "d/.gitignore", ".git/info/exclude", ".git/config", ".git/HEAD",
		".git/index", ".git/packed-refs", ".git/refs/heads/main", ".git/objects/info/alternates", ".git/shallow",
		".git/commondir"} {
		g := newGit(t)
		g.write("d/f", "x")
		g.commit("c")
		_ = os.Remove(g.dir + "/" + name)
		if err := syscall.Mkfifo(g.dir+"/"+name, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, rev := range []string{"main", ""} {
			done := make(chan error, 1)
			go func() { done <- limited(t, g.dir, repo.Limits{Silence: 100 * time.Millisecond}, rev) }()
			select {
			case err := <-done:
				if err != nil {
					wantErr(t, err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s, revision %q: it hangs", name, rev)
			}
		}
	}
}

// A pointer that is a giant is not read whole.
func TestGiantPointer(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(dir + "/.git")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("gitdir: "); err != nil {
		t.Fatal(err)
	}
	if err := joinErr(f.Truncate(1<<40), f.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = repo.Open(t.Context(), dir)
	wantErr(t, err, "neither git's directory")
}
