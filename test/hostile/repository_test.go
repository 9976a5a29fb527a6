package hostile

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/sample"
)

// attack is one crafted repository.
type attack struct {
	name string
	make func(*enemy)
	rev  string   // read this revision; "" is the files as they are
	says []string // what every refusal says; nil: it is harmless, and applies
	// etc is what the machine has in /etc/x then; "" is the plain repository's.
	etc  string
	long bool // takes seconds
}

// plain is what stands in every repository before its attack.
const (
	plainMain = "target \"a\" {}\nfile \"/etc/x\" { source = \"files/x\" }\n"
	plainFile = "content of x\n"
)

// enemy makes a repository by hand, where git itself would refuse to.
type enemy struct {
	*trap
}

func (e *enemy) git(args ...string) string { return e.gitIn("", args...) }

func (e *enemy) gitIn(stdin string, args ...string) string {
	e.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = e.repo
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=M",
		"GIT_AUTHOR_EMAIL=m@example.org",
		"GIT_COMMITTER_NAME=M", "GIT_COMMITTER_EMAIL=m@example.org", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_DATE=1700000000 +0000"}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// begin makes a repository with one good commit.
func (e *enemy) begin() {
	e.t.Helper()
	e.put("fettle.hcl", plainMain)
	e.put("files/x", plainFile)
	e.git("init", "-q", "-b", "main", ".")
	e.git("add", "-A")
	e.git("commit", "-q", "-m", "good")
}

// put writes a file of the work tree.
func (e *enemy) put(name, text string) {
	e.t.Helper()
	write(e.t, filepath.Join(e.repo, name), text, 0o644)
}

func (e *enemy) blob(text string) string { return e.gitIn(text, "hash-object", "-w", "--stdin") }

// tree writes a tree object of mode, name, object, mode, name, object…
func (e *enemy) tree(entries ...string) string {
	e.t.Helper()
	var b strings.Builder
	for i := 0; i < len(entries); i += 3 {
		id, err := hex.DecodeString(entries[i+2])
		must(e.t, err)
		fmt.Fprintf(&b, "%s %s\x00%s", entries[i], entries[i+1], id)
	}
	return e.gitIn(b.String(), "hash-object", "--literally", "-t", "tree", "-w", "--stdin")
}

// with is a tree of the plain repository and what is given.
func (e *enemy) with(entries ...string) string {
	e.t.Helper()
	base := []string{"100644", "fettle.hcl", e.blob(plainMain), "40000", "files", e.tree("100644", "x", e.blob(plainFile))}
	return e.tree(append(base, entries...)...)
}

// main makes a tree the content of the branch main.
func (e *enemy) main(tree string) {
	e.t.Helper()
	e.git("update-ref", "refs/heads/main", e.git("commit-tree", "-m", "evil", tree))
}

// raw writes below .git.
func (e *enemy) raw(name, text string) {
	e.t.Helper()
	p := filepath.Join(e.repo, ".git", name)
	_ = os.RemoveAll(p)
	write(e.t, p, text, 0o644)
}

// attacks are all of them.
func attacks() []attack {
	var all []attack
	for _, some := range [][]attack{treeAttacks(), objectAttacks(), refAttacks(), configAttacks(), directoryAttacks(),
		textAttacks()} {
		all = append(all, some...)
	}
	return all
}

// TestRepositories gives each repository to validate, plan and apply. Nothing
// runs, nothing outside of the root changes, and what is refused is refused
// with its place and leaves nothing behind.
func TestRepositories(t *testing.T) {
	all, names := attacks(), map[string]bool{}
	if len(all) < 60 {
		t.Fatalf("only %d attacks", len(all))
	}
	var done, lost atomic.Int64
	t.Run("attack", func(t *testing.T) {
		for i, a := range all {
			if names[a.name] {
				t.Fatalf("two attacks have the name %q", a.name)
			}
			if names[a.name] = true; (a.long || i%2 == 1 || !sample.Has(i/2)) && !long() {
				continue
			}
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				done.Add(1)
				defer func() {
					if t.Failed() {
						lost.Add(1)
					}
				}()
				e := &enemy{newTrap(t)}
				e.begin()
				a.make(e)
				e.judge(a)
			})
		}
	})
	campaign.Record(t, campaign.Campaign{Name: "Hostile repositories", Points: int(done.Load()), Hit: int(done.Load()),
		Lost:   int(lost.Load()),
		Detail: "validate, plan and apply as root under strace; only git runs, no write outside of the root; refused with a position, or applied as written"})
}

// ownPeak is how much memory this test has had, in bytes: until a child runs its
// own program it counts as the child's.
func ownPeak() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Maxrss << 10
}

// judge runs the commands.
func (e *enemy) judge(a attack) {
	commands, wants := [][]string{{"apply", "--yes", "--dirty"}}, []int{0}
	if long() {
		commands, wants = append([][]string{{"validate"}, {"plan"}}, commands...), []int{0, 2, 0}
	}
	around := e.picture(e.home, e.outside, e.repo)
	machine := e.picture(e.root)
	for i, args := range commands {
		if a.rev != "" {
			args = append(args, "--rev", a.rev)
		}
		got := e.fettle(args...)
		if len(got.strange) > 0 {
			e.t.Errorf("%q did what it may not:\n%s", args, strings.Join(got.strange, "\n"))
		}
		if terminal(got.out) {
			e.t.Errorf("%q prints what a terminal acts upon: %q", args, got.out)
		}
		if got.memory > max(512<<20, ownPeak()) {
			e.t.Errorf("%q took %d MiB", args, got.memory>>20)
		}
		if a.says == nil {
			if got.code != wants[i] {
				e.t.Errorf("%q ends with %d, want %d:\n%s", args, got.code, wants[i], got.out)
			}
			continue
		}
		if got.code != 1 {
			e.t.Errorf("%q ends with %d, want 1:\n%.2000s", args, got.code, got.out)
		}
		for _, s := range a.says {
			if !strings.Contains(got.out, s) {
				e.t.Errorf("%q does not say %q:\n%.2000s", args, s, got.out)
			}
		}
	}
	if d := changed(around, e.picture(e.home, e.outside, e.repo)); len(d) > 0 {
		e.t.Errorf("it changed what is around:\n%s", strings.Join(d, "\n"))
	}
	e.compare(a, machine)
}

// compare looks at the machine: as before, or with the one file.
func (e *enemy) compare(a attack, before map[string]string) {
	after := e.picture(e.root)
	for p := range after {
		if strings.HasPrefix(p, e.root+"/var") || p == e.root || p == e.root+"/etc" {
			delete(after, p)
		}
	}
	if a.says == nil {
		want := a.etc
		if want == "" {
			want = plainFile
		}
		if b, err := os.ReadFile(e.root + "/etc/x"); err != nil || string(b) != want {
			e.t.Errorf("/etc/x has %q, want %q (%v)", b, want, err)
		}
		delete(after, e.root+"/etc/x")
	} else if _, err := os.Lstat(e.root + "/var"); err == nil {
		e.t.Error("a refusal left a state directory")
	}
	delete(before, e.root)
	delete(before, e.root+"/etc")
	if d := changed(before, after); len(d) > 0 {
		e.t.Errorf("it changed the machine:\n%s", strings.Join(d, "\n"))
	}
}
