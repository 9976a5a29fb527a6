package repo_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/campaign"
)

// newCommand returns a git command in the repository, for commands that can fail.
func newCommand(w *watched, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Com",
		"GIT_COMMITTER_EMAIL=c@example.org"}
	return cmd
}

// TestRecallKinds: linked work trees, directories inside of a repository, alternate objects, other
// hashes, sparse ones and shared settings.
func TestRecallKinds(t *testing.T) {
	linked := func(w *watched) {
		w.at = filepath.Join(t.TempDir(), "linked")
		w.git("worktree", "add", "-q", w.at)
	}
	for _, c := range []struct {
		name   string
		make   func(w *watched)
		recall bool
	}{
		{"linked work tree", linked, true},
		{"directory", func(w *watched) { w.at = w.path("m/deep") }, true},
		{"settings of a work tree", func(w *watched) {
			w.git("config", "extensions.worktreeConfig", "true")
			w.git("config", "--worktree", "core.fileMode", "true")
		}, true},
		{"packed", func(w *watched) { w.git("pack-refs", "--all"); w.git("gc", "-q") }, true},
		{"clone with alternates", func(w *watched) {
			to := filepath.Join(t.TempDir(), "clone")
			w.git("clone", "-q", "--shared", w.dir, to)
			w.at = to
		}, true},
		{"index in two parts", func(w *watched) { w.git("update-index", "--split-index") }, true},
		{"settings from elsewhere", func(w *watched) { w.git("config", "include.path", "/dev/null") }, false},
		{"sparse", func(w *watched) { w.git("sparse-checkout", "set", "empty") }, false},
		{"dirty", func(w *watched) { w.write("m/one", "x") }, false},
		{"no commit", func(w *watched) { w.git("symbolic-ref", "HEAD", "refs/heads/unborn") }, false},
		{"plain directory", func(w *watched) { must(w.t, os.RemoveAll(w.path(".git"))) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWatched(t)
			c.make(w)
			if recalled := w.recalls(); recalled != c.recall {
				t.Fatalf("recalled is %v", recalled)
			}
			if c.name != "plain directory" {
				w.commit("more")
			}
			if w.look(time.Now) && c.name != "linked work tree" && c.name != "clone with alternates" {
				t.Error("a new commit is not seen")
			}
		})
	}
}

// TestRecallYoung: a file that changed less than a grain before a look could change again with the
// same times, so that look does not record it.
func TestRecallYoung(t *testing.T) {
	for _, name := range []string{"m/one", "m", "m/link", "empty/within", ".git/index", ".git/HEAD",
		".git/refs/heads/main", ".git/info", ".git/config"} {
		w := newWatched(t)
		w.settle()
		must(t, os.Chtimes(w.path("m/run"), time.Now(), time.Now())) // forces a new look
		info, err := os.Lstat(w.path(name))
		must(t, err)
		changed := newest(t, w.path(name), info)
		w.memory = nil
		w.look(func() time.Time { return changed.Add(10 * time.Millisecond) })
		if w.look(time.Now) {
			t.Errorf("%s was trusted 10 ms after it had changed", name)
		}
		w.settle()
	}
}

// TestRecallRandom: any row of changes, with one memory all along. Most come
// upon a tree that is remembered.
func TestRecallRandom(t *testing.T) {
	rows, seed := 3, rand.Uint64()
	if os.Getenv("FETTLE_LONG") != "" {
		rows = 40
	}
	dice, all := rand.New(rand.NewPCG(seed, 1)), changes()
	changed, remembered, recalled := 0, 0, 0
	for range rows {
		w := newWatched(t)
		for range 12 {
			if dice.IntN(3) > 0 {
				_ = newCommand(w, "clean", "-q", "-f", "-f", "-d").Run()
				_ = newCommand(w, "add", "-A").Run()
				_ = newCommand(w, "commit", "-q", "--allow-empty", "-m", "c").Run()
			}
			if w.recalls() {
				remembered++
			}
			c := all[dice.IntN(len(all))]
			t.Log(c.name)
			changed++
			w.attempt(c)
			if w.look(time.Now) {
				recalled++
			}
		}
	}
	t.Logf("seed %d: %d changes, %d of them of a remembered tree, %d recalled", seed, changed, remembered, recalled)
	if remembered == 0 {
		t.Error("no change came upon a tree that was remembered")
	}
	campaign.Record(t, campaign.Campaign{
		Name: "Recalled work trees", Points: changed, Hit: remembered,
		Detail: "random changes of a work tree, its index, branches, ignore rules and settings; the cached result is compared with the real one, file by file (in the run: the tree was cached before)",
	})
}

// TestRecallDamaged: one bit of a memory that is another, or a piece that is
// missing, has everything read.
func TestRecallDamaged(t *testing.T) {
	w := newWatched(t)
	w.settle()
	whole := w.memory
	check := func(b []byte, what string, i int) {
		r := open(t, w.at)
		r.Use(repo.ParseMemory(b), time.Now)
		if _, _, ok := r.Recall(""); ok {
			t.Errorf("%s at %d was believed", what, i)
		}
	}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		check(flipped, "a flipped bit", i)
		check(whole[:i], "an end", i)
	}
	check(append(bytes.Clone(whole), 0), "more", len(whole))
}

// TestRecallRunsNothing: a recall does not run git.
func TestRecallRunsNothing(t *testing.T) {
	w := newWatched(t)
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	real, err := exec.LookPath("git")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho \"$@\" >> "+log+"\nexec "+real+" \"$@\"\n"),
		0o755))
	path := os.Getenv("PATH")
	t.Setenv("PATH", bin+":"+path)
	for _, rev := range []string{"", "main"} {
		w.rev, w.memory = rev, nil
		w.settle()
		must(t, os.Remove(log))
		r := open(t, w.at)
		r.Use(repo.ParseMemory(w.memory), time.Now)
		tree, _, ok := r.Recall(rev)
		if !ok {
			t.Fatalf("%q is not recalled", rev)
		}
		if _, err := tree.Stat("m/one"); err != nil {
			t.Error(err)
		}
		if _, err := tree.ReadDir("m"); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(log); err == nil {
			t.Errorf("%q: git was called:\n%s", rev, text)
		}
	}
}

// TestRecallLimits: an answer that was given within wider limits is not given
// within narrower ones.
func TestRecallLimits(t *testing.T) {
	w := newWatched(t)
	w.settle()
	for _, c := range []struct {
		limits repo.Limits
		recall bool
	}{{repo.Limits{}, true}, {repo.Limits{Files: 60_000}, true}, {repo.Limits{Files: 2}, false},
		{repo.Limits{FileSize: 1}, false}, {repo.Limits{Total: 1 << 25}, false}} {
		r, err := repo.OpenWith(t.Context(), w.at, c.limits)
		must(t, err)
		r.Use(repo.ParseMemory(w.memory), time.Now)
		if _, _, ok := r.Recall(""); ok != c.recall {
			t.Errorf("%+v: recalled is %v", c.limits, ok)
		}
		r.Close()
	}
}

// TestRecallRunsNothingOfARepository: nor does remembering run what a
// repository names.
func TestRecallRunsNothingOfARepository(t *testing.T) {
	g, ran := sentinelRepo(t)
	w := &watched{gitRepo: g, at: g.dir}
	must(t, os.MkdirAll(w.path("empty/:(top)x"), 0o755))
	must(t, os.MkdirAll(w.path("empty/*"), 0o755))
	w.settle()
	w.rev = "main"
	w.memory = nil
	w.settle()
	if s := ran(); s != "" {
		t.Errorf("it ran:\n%s", s)
	}
}
