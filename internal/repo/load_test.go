package repo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

func TestLargeFiles(t *testing.T) {
	g := newGit(t)
	g.write("mid", strings.Repeat("m", 200<<10))
	g.write("big", strings.Repeat("b", 33<<20))
	g.commit("c")
	_, _, err := g.open().WorkTree(t.Context())
	wantErr(t, err, `"big"`, "32MiB", "--max-file-size 34MiB")
	r, err := repo.OpenWith(t.Context(), g.dir, repo.Limits{FileSize: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	commit, _ := at(t, r, "main")
	work, info := workTree(t, r)
	if info.Dirty {
		t.Error("dirty")
	}
	for _, tree := range []repo.Tree{commit, work} {
		_, err := tree.ReadFile("big")
		wantErr(t, err, "32 MiB")
		f, err := tree.Open("big")
		if err != nil {
			t.Fatal(err)
		}
		// A stream that is not read to its end blocks no other reader.
		if text, err := tree.ReadFile("mid"); err != nil || len(text) != 200<<10 {
			t.Error(len(text), err)
		}
		n, err := io.Copy(io.Discard, f)
		if n != 33<<20 || err != nil {
			t.Error(n, err)
		}
		f.Close()
		if g, err := tree.Open("big"); err != nil || g.Close() != nil {
			t.Error(err)
		}
	}
	g.write("mid", strings.Repeat("M", 200<<10))
	_, err = work.ReadFile("mid")
	wantErr(t, err, "changed after")
}

func TestConcurrentUseAndCancel(t *testing.T) {
	g, _, _ := twoCommits(t)
	r := g.open()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := r.At(cancelled, "main"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			tree, _, err := r.At(context.Background(), "main")
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := tree.ReadFile("fettle.hcl"); err != nil || string(text) != "one\ntwo\n" {
				t.Error(string(text), err)
			}
		})
	}
	wg.Wait()
	r.Close()
	_, _, err := r.At(context.Background(), "main")
	if err == nil {
		t.Error("works after Close")
	}
}

func BenchmarkRead2000(b *testing.B) {
	g := newGit(b)
	for i := range 2000 {
		g.write(fmt.Sprintf("d%02d/f%d", i%50, i), strings.Repeat(fmt.Sprint(i, "\n"), 100))
	}
	g.commit("c")
	g.git("gc", "-q")
	for _, work := range []bool{false, true} {
		b.Run(map[bool]string{false: "commit", true: "worktree"}[work], func(b *testing.B) {
			for b.Loop() {
				r := open(b, g.dir)
				var tree repo.Tree
				if work {
					tree, _ = workTree(b, r)
				} else {
					tree, _ = at(b, r, "main")
				}
				err := repo.Walk(tree, ".", func(e repo.Entry) error { _, err := tree.ReadFile(e.Path); return err })
				if err != nil {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}
