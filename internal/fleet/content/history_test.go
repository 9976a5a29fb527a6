package content_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
)

// dag is a git repository with a random graph of commits, signed by ssh-keygen. The results of git
// and ssh-keygen are the expected ones.
type dag struct {
	*gitRepo
	t       *testing.T
	dice    *rand.Rand
	history *repo.History
	commits []string
	trusted content.Signers
	signed  map[string]bool // by git verify-commit
}

const absent = "1234567890123456789012345678901234567890"

func newDAG(t *testing.T, dice *rand.Rand) *dag {
	g := newGit(t, "--object-format="+[]string{"sha1", "sha256"}[dice.IntN(2)])
	believed, line := newKey(t, "ed25519")
	stranger, _ := newKey(t, "ed25519")
	allowed := filepath.Join(t.TempDir(), "allowed")
	if err := os.WriteFile(allowed, []byte(line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.git("config", "gpg.ssh.allowedSignersFile", allowed)
	g.git("config", "gpg.format", "ssh")
	g.git("config", "uploadpack.allowAnySHA1InWant", "true")
	g.git("config", "uploadpack.allowFilter", fmt.Sprint(dice.IntN(2) == 0))
	d := &dag{gitRepo: g, t: t, dice: dice, trusted: signers(t, line), signed: map[string]bool{}}
	keys := []string{believed, believed, believed, believed, stranger, ""}
	for range 8 + dice.IntN(8) {
		d.grow(keys[dice.IntN(len(keys))])
	}
	remote, err := repo.OpenRemote("file://" + g.dir)
	if err == nil {
		remote, err = remote.With(repo.Access{})
	}
	if err == nil {
		d.history, err = repo.OpenHistory(t.Context(), filepath.Join(t.TempDir(), "h.git"), remote, repo.MirrorLimits{})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range d.commits {
		if err := d.history.Fetch(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		d.signed[id] = d.judge("verify-commit", id)
	}
	return d
}

// grow adds a commit of up to three of the last commits, sometimes a second root. Clocks differ.
func (d *dag) grow(key string) {
	d.when = 1_700_000_000 + d.dice.Int64N(100_000)
	d.write("f", fmt.Sprint(len(d.commits)))
	d.git("add", "-A")
	args := []string{"commit-tree", d.git("write-tree"), "-m", fmt.Sprint("c", len(d.commits))}
	parents := []int{0, 1, 1, 1, 1, 1, 2, 2, 3}[d.dice.IntN(9)]
	recent := d.commits[max(0, len(d.commits)-5):]
	for _, at := range d.dice.Perm(len(recent))[:min(parents, len(recent))] {
		args = append(args, "-p", recent[at])
	}
	if key != "" {
		args = append(args, "-S"+key)
	}
	id := d.git(args...)
	d.git("update-ref", "refs/heads/b"+id[:12], id)
	d.commits = append(d.commits, id)
}

// judge returns true if git succeeds.
func (d *dag) judge(args ...string) bool {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = d.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	return cmd.Run() == nil
}

// want returns the result of git for a lineage.
func (d *dag) want(l content.Lineage, rule content.Descent) bool {
	if !l.NeedsHistory(rule) {
		return true
	}
	args := []string{"rev-list", l.Commit}
	for _, id := range l.Accepted() {
		if id != absent {
			args = append(args, "^"+id)
		}
	}
	unsigned := slices.ContainsFunc(strings.Fields(d.git(args...)), func(id string) bool { return !d.signed[id] })
	ancestor := func(a, b string) bool { return a != absent && d.judge("merge-base", "--is-ancestor", a, b) }
	descends := l.Part != "" && ancestor(l.Part, l.Commit) || l.Part == "" &&
		(ancestor(l.Root, l.Commit) || ancestor(l.Commit, l.Root))
	return !(rule.Signed && unsigned || rule.Descends && !descends)
}

// raws returns the objects that a hub delivers.
func (d *dag) raws(l content.Lineage) (raws [][]byte) {
	ids, err := d.history.Since(d.t.Context(), l.Commit, l.Accepted(), content.MaxHistoryCommits)
	if err == nil {
		err = d.history.Read(d.t.Context(), ids, func(raw []byte) error {
			raws = append(raws, raw)
			return nil
		})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return raws
}

func historyText(t testing.TB, raws [][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := content.NewHistoryWriter(&b)
	for _, raw := range raws {
		if err := w.Add(raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (d *dag) verify(raws [][]byte, l content.Lineage, rule content.Descent) error {
	h, err := content.ReadHistory(bytes.NewReader(historyText(d.t, raws)), l.Commit)
	if err != nil {
		return err
	}
	return content.VerifyHistory(h, l, rule, content.Trust{Signers: d.trusted, Now: 1_800_000_000})
}

func (d *dag) lineage() content.Lineage {
	pick := func() string {
		switch n := d.dice.IntN(len(d.commits) + 3); {
		case n < len(d.commits):
			return d.commits[n]
		case n == len(d.commits):
			return absent
		}
		return ""
	}
	last := d.commits[len(d.commits)-1-d.dice.IntN(5)]
	return content.Lineage{Commit: last, Part: pick(), Root: pick()}
}

// tampered returns the objects of a hostile hub: a missing commit, commits of another lineage, a
// changed commit.
func (d *dag) tampered(raws [][]byte) [][]byte {
	raws = slices.Clone(raws)
	for range 1 + d.dice.IntN(2) {
		if len(raws) == 0 {
			return raws
		}
		at := d.dice.IntN(len(raws))
		switch d.dice.IntN(3) {
		case 0:
			raws = slices.Delete(raws, at, at+1)
		case 1:
			raws = append(d.raws(d.lineage()), raws[at])
			slices.SortFunc(raws, bytes.Compare)
			raws = slices.CompactFunc(raws, bytes.Equal)
		default:
			raws[at] = append(bytes.Clone(raws[at]), '\n')
		}
	}
	return raws
}

// TestHistoriesAgreeWithGit compares random graphs with git rev-list, git merge-base and git
// verify-commit. The order of the objects does not matter, and no other set of objects is accepted
// where git refuses.
func TestHistoriesAgreeWithGit(t *testing.T) {
	graphs := 6
	if os.Getenv("FETTLE_LONG") != "" {
		graphs = 150
	}
	seed := rand.Uint64()
	accepted, refused := 0, 0
	for n := range graphs {
		d := newDAG(t, rand.New(rand.NewPCG(seed, uint64(n))))
		for range 30 {
			l := d.lineage()
			rule := content.Descent{Signed: d.dice.IntN(3) > 0, Descends: d.dice.IntN(3) > 0}
			want, raws := d.want(l, rule), d.raws(l)
			d.dice.Shuffle(len(raws), func(i, j int) { raws[i], raws[j] = raws[j], raws[i] })
			if err := d.verify(raws, l, rule); (err == nil) != want {
				t.Fatalf("seed %d, %d: %+v with %+v is %v, and git says %v\n%s", seed, n, l, rule, err, want,
					d.git("log", "--graph", "--all", "--format=%H %s"))
			}
			if err := d.verify(d.tampered(raws), l, rule); err == nil && !want {
				t.Fatalf("seed %d, %d: a hostile hub has %+v accepted with %+v", seed, n, l, rule)
			}
			if want && l.NeedsHistory(rule) {
				accepted++
			} else if !want {
				refused++
			}
		}
	}
	if accepted < graphs || refused < graphs {
		t.Errorf("only %d were accepted, and %d were refused", accepted, refused)
	}
}

// A history is read completely or not at all, within its limits.
func TestHistoriesThatAreRefused(t *testing.T) {
	w := newWorld(t)
	id := objectID("commit", w.commit)
	good := historyText(t, [][]byte{w.commit})
	if _, err := content.ReadHistory(bytes.NewReader(good), id); err != nil {
		t.Fatal(err)
	}
	for at := range good {
		_, err := content.ReadHistory(bytes.NewReader(good[:at]), id)
		if !errors.Is(err, content.ErrTruncated) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	}
	size := func(n byte, rest string) string { return "fettle.history/1\n\x00" + string([]byte{n, 0, 0}) + rest }
	many := strings.Builder{}
	many.WriteString("fettle.history/1\n")
	for i := range content.MaxHistoryCommits + 1 {
		text := header(w.rootID) + fmt.Sprint("\n", i)
		many.WriteString(string([]byte{0, 0, 0, byte(len(text))}) + text)
	}
	for text, want := range map[string]string{
		"fettle.history/2\n": "is not of the format fettle.history/1",
		string(good) + "x":   "more data after its end",
		string(good[:len(good)-4]) + string(good[len("fettle.history/1\n"):]): "twice",
		size(0x11, ""): "a commit of more than 1048576 bytes",
		many.String():  "more than 10000 commits",
		"fettle.history/1\n\x00\x00\x00\x03abc\x00\x00\x00\x00": "cannot be read",
		string(historyText(t, [][]byte{[]byte(strings.Replace(header(w.rootID), "author", "parent "+absent+"\nauthor",
			1) + "\nok\n")})) + " ": "more data",
		string(historyText(t, [][]byte{[]byte(strings.Replace(header(w.rootID), "committer", "parent "+absent+"\ncommitter",
			1) + "\nlate\n")})): "an invalid parent",
		string(historyText(t, [][]byte{[]byte(strings.Replace(header(w.rootID), "author", "parent 1\nauthor",
			1) + "\nshort\n")})): "an invalid parent",
	} {
		_, err := content.ReadHistory(strings.NewReader(text), id)
		wantErr(t, err, "cannot read the history of "+id[:12], want)
	}
	_, err := content.ReadHistory(bytes.NewReader(good), "main")
	wantErr(t, err, "is not the full hash of a commit")
}

// The errors name the commit that is missing, unsigned or replaced.
func TestErrorsOfHistories(t *testing.T) {
	g := site(t)
	var line string
	g.key, line = newKey(t, "ed25519")
	first := g.commit("first")
	key := g.key
	g.key = ""
	second := g.commit("quick fix")
	g.key = key
	third := g.commit("third")
	g.git("checkout", "-q", "-b", "other", first)
	fourth := g.commit("fourth")
	raw := func(ids ...string) (raws [][]byte) {
		for _, id := range ids {
			raws = append(raws, []byte(g.git("cat-file", "commit", id)+"\n"))
		}
		return raws
	}
	both := content.Descent{Signed: true, Descends: true}
	for name, c := range map[string]struct {
		raws [][]byte
		l    content.Lineage
		rule content.Descent
		want string
	}{
		"unsigned": {raw(second, third), content.Lineage{Commit: third, Part: first}, both,
			fmt.Sprintf("the commit %.12s \"quick fix\" by Ann <ann@example.org>", second)},
		"not required": {raw(second, third), content.Lineage{Commit: third, Part: first}, content.Descent{Descends: true},
			""},
		"accepted": {raw(third), content.Lineage{Commit: third, Part: second}, both, ""},
		"missing": {raw(third), content.Lineage{Commit: third, Part: first}, both,
			fmt.Sprintf("the hub did not deliver a commit: %.12s", second)},
		"rewritten": {raw(fourth, third), content.Lineage{Commit: fourth, Part: third}, both,
			fmt.Sprintf("the hub did not deliver a commit: %.12s", first)},
		"rewritten too": {raw(fourth, third, second), content.Lineage{Commit: fourth, Part: third}, both,
			fmt.Sprintf("does not show that it descends from %.12s", third)},
		"rollback": {raw(third, second), content.Lineage{Commit: first, Part: third}, both,
			fmt.Sprintf("does not show that it descends from %.12s", third)},
		"new module": {raw(third, second), content.Lineage{Commit: first, Root: third}, both, ""},
		"first":      {nil, content.Lineage{Commit: third}, both, ""},
	} {
		h, err := content.ReadHistory(bytes.NewReader(historyText(t, c.raws)), first)
		if err == nil {
			err = content.VerifyHistory(h, c.l, c.rule, content.Trust{Signers: signers(t, line), Now: now})
		}
		if c.want == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if c.want != "" {
			wantErr(t, err, c.want)
		}
	}
}

// FuzzReadHistory: no input causes a panic, and only a complete history is read.
func FuzzReadHistory(f *testing.F) {
	w := newWorld(f)
	good := historyText(f, [][]byte{w.commit, []byte(header(w.rootID) + "\nx\n")})
	f.Add(good)
	f.Add(good[:40])
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := content.ReadHistory(bytes.NewReader(text), absent)
		if err != nil {
			return
		}
		_ = content.VerifyHistory(h, content.Lineage{Commit: absent, Part: objectID("commit", w.commit)},
			content.Descent{Signed: true, Descends: true}, content.Trust{Now: now})
		if len(text) < len("fettle.history/1\n")+4 {
			t.Errorf("%q is read", text)
		}
	})
}
