package repo_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/sample"
)

// withNames is a repository in which a commit has names of every kind.
func withNames(t testing.TB) (w *watched, first string) {
	w = newWatched(t)
	first = w.git("rev-parse", "HEAD")
	w.git("tag", "light")
	w.git("tag", "-a", "-m", "t", "heavy")
	w.git("branch", "old")
	w.git("branch", "release/one")
	w.git("update-ref", "refs/remotes/origin/main", "HEAD")
	w.git("update-ref", "refs/heads/"+first[:8], "HEAD") // could be the commit's beginning
	w.write("m/one", "more\n")
	w.commit("second")
	return w, first
}

// TestRecallRevision: a recalled revision equals git's resolution, for every form of name.
func TestRecallRevision(t *testing.T) {
	_, first := withNames(t)
	for _, c := range []struct {
		rev    string
		recall bool
	}{
		{"HEAD", true}, {"main", true}, {"old", true}, {"release/one", true}, {"refs/heads/old", true}, {"heads/old", true},
		{"light", true}, {"heavy", true},
		{"tags/heavy", true}, {"origin/main", true}, {"remotes/origin/main", true}, {first, true},
		{first[:9], false}, {first[:8], false}, {"main~1", false}, {"heavy^{commit}", false}, {"@", false},
		{"nowhere", false}, {"release", false}, {"config", false}, {"../HEAD", false}, {"-q", false}, {"", true},
	} {
		t.Run(c.rev, func(t *testing.T) {
			sample.Half(t)
			t.Parallel()
			w, _ := withNames(t)
			w.rev = c.rev
			recalled := w.recalls()
			if recalled != c.recall {
				t.Fatalf("recalled is %v", recalled)
			}
			if c.rev == "" {
				return
			}
			for _, change := range renamings() {
				err := newCommand(w, change.args(filepath.Base(c.rev))...).Run()
				t.Logf("%s: %v", change.name, err)
				w.look(time.Now)
			}
		})
	}
}

// recalls is like settle, for a tree that might never be recalled.
func (w *watched) recalls() bool {
	for range 4 {
		if _, _, err := read(w.t, open(w.t, w.at), w.rev); err != nil {
			return false
		}
		if w.look(time.Now) {
			return true
		}
		time.Sleep(20 * time.Millisecond) // the configuration must be older than the look
	}
	return false
}

// renaming changes what names stand for. git may refuse.
type renaming struct {
	name string
	args func(name string) []string
}

func renamings() []renaming {
	ref := func(args ...string) func(string) []string {
		return func(name string) []string {
			return append([]string{"update-ref"}, append(args[:len(args)-2:len(args)-2], args[len(args)-2]+name,
				args[len(args)-1])...)
		}
	}
	say := func(args ...string) func(string) []string { return func(string) []string { return args } }
	return []renaming{
		{"a commit", say("commit", "-q", "--allow-empty", "-m", "more")},
		{"packing", say("pack-refs", "--all")},
		{"a moved branch", ref("refs/heads/", "HEAD~1")},
		{"a moved branch again", ref("refs/heads/", "HEAD")},
		{"a remote", ref("refs/remotes/", "HEAD")},
		{"no remote", func(n string) []string { return []string{"update-ref", "-d", "refs/remotes/" + n} }},
		{"a moved tag", ref("refs/tags/", "HEAD")},
		{"a removed branch", func(n string) []string { return []string{"update-ref", "-d", "refs/heads/" + n} }},
		{"a removed tag", func(n string) []string { return []string{"update-ref", "-d", "refs/tags/" + n} }},
		{"a branch of a branch", say("symbolic-ref", "refs/heads/old", "refs/heads/third")},
		{"a pseudo-ref", ref("", "HEAD")},
		{"another branch", say("checkout", "-q", "-f", "-B", "third")},
		{"a detached head", say("checkout", "-q", "-f", "--detach")},
	}
}

// TestRecallRevisionOfAnother: a memory of one revision says nothing of another
// one, nor of the work tree.
func TestRecallRevisionOfAnother(t *testing.T) {
	w, _ := withNames(t)
	w.rev = "main"
	w.settle()
	for _, rev := range []string{"old", "", "main~1"} {
		other := &watched{gitRepo: w.gitRepo, at: w.at, rev: rev, memory: w.memory}
		if other.look(time.Now) {
			t.Errorf("%q was recalled", rev)
		}
	}
}

// TestRecallLostObject: missing content is reported when it is read.
func TestRecallLostObject(t *testing.T) {
	w, _ := withNames(t)
	w.rev = "main"
	w.settle()
	id := w.git("rev-parse", "main:m/one")
	must(t, os.Remove(w.path(".git/objects/"+id[:2]+"/"+id[2:])))
	r := open(t, w.at)
	r.Use(repo.ParseMemory(w.memory), time.Now)
	tree, _, ok := r.Recall("main")
	if !ok {
		t.Fatal("it is not recalled")
	}
	_, err := tree.ReadFile("m/one")
	wantErr(t, err, `"m/one"`, "not in this repository")
}
