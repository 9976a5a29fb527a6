package repo_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

func TestInit(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	t.Setenv("HOME", dir)
	for _, name := range []string{"fettle.hcl", "left-out"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rev, err := repo.Init(ctx, dir, []string{"fettle.hcl"}, "first")
	if err != nil || rev.Subject != "first" || len(rev.Commit) != 40 {
		t.Fatalf("Init: %+v, %v", rev, err)
	}
	r, err := repo.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tree, at, err := r.At(ctx, "main")
	if err != nil || at.Commit != rev.Commit {
		t.Fatalf("At(main): %+v, %v", at, err)
	}
	if _, err := tree.Stat("left-out"); err == nil {
		t.Error("a file that was not named is in the commit")
	}
	again, err := repo.Init(ctx, dir, []string{"left-out"}, "second")
	if err != nil || again.Commit != "" {
		t.Errorf("Init inside of a repository: %+v, %v; want nothing done", again, err)
	}
}
