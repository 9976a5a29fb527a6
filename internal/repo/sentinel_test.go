package repo_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fettle.dev/fettle/test/needs"
)

// sentinelRepo runs a program from every place of a repository and its
// configuration that can name one.
func sentinelRepo(t *testing.T) (g *gitRepo, ran func() string) {
	g, _, _ = twoCommits(t)
	dir := t.TempDir()
	script, log := dir+"/sentinel", dir+"/ran"
	text := "#!/bin/sh\necho \"$0 $*\" >> " + log + "\nexit 1\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	g.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	g.git("add", "-A")
	g.git("commit", "-q", "-m", "attributes")
	hooks := g.dir + "/.git/hooks"
	os.RemoveAll(hooks)
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{"post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman",
		"pre-auto-gc"} {
		if err := os.Symlink(script, hooks+"/"+h); err != nil {
			t.Fatal(err)
		}
	}
	g.git("config", "core.repositoryformatversion", "1")
	for _, c := range [][2]string{
		{"core.hooksPath", hooks}, {"filter.evil.clean", script + " clean"}, {"filter.evil.smudge", script + " smudge"},
		{"diff.evil.textconv", script + " textconv"}, {"diff.evil.command", script + " diff"},
		{"diff.external", script + " extdiff"}, {"core.pager", script}, {"pager.blame", script}, {"pager.ls-tree", script},
		{"core.editor", script},
		{"core.sshCommand", script + " ssh"}, {"core.gitProxy", script}, {"core.askPass", script},
		{"credential.helper", "!" + script},
		{"gpg.program", script}, {"log.showSignature", "true"}, {"core.alternateRefsCommand", script},
		{"alias.ls-tree", "!" + script}, {"alias.cat-file", "!" + script}, {"protocol.ext.allow", "always"},
		{"protocol.allow", "always"},
		{"remote.origin.url", "ext::" + script}, {"remote.origin.promisor", "true"},
		{"remote.origin.partialclonefilter", "blob:none"},
		{"extensions.partialClone", "origin"}, {"uploadpack.packObjectsHook", script},
		{"blame.ignoreRevsFile", "/etc/shadow"},
		{"core.fsmonitor", script + " fsmonitor"}, {"core.worktree", "/etc"},
	} {
		g.git("config", c[0], c[1])
	}
	os.Remove(log)
	return g, func() string {
		text, _ := os.ReadFile(log)
		return string(text)
	}
}

func TestNothingOfARepositoryRuns(t *testing.T) {
	needs.Root(t) // a repository names a file that only root can read
	g, ran := sentinelRepo(t)
	g.write("fettle.hcl", "changed\n")
	ctx, r := context.Background(), g.open()
	tree, _ := at(t, r, "HEAD~1")
	show(t, tree)
	tree, info := workTree(t, r)
	show(t, tree)
	if !info.Dirty || r.Top() != g.dir {
		t.Errorf("%+v %s", info, r.Top())
	}
	_, _, err := r.Blame(ctx, "main", "fettle.hcl", 1)
	wantErr(t, err, "blame.ignoreRevsFile")
	if strings.Contains(err.Error(), "root") {
		t.Errorf("it quotes a foreign file: %v", err)
	}
	g.git("config", "--unset", "blame.ignoreRevsFile")
	if _, _, err := r.Blame(ctx, "main", "fettle.hcl", 1); err != nil {
		t.Error(err)
	}
	if _, err := r.Changed(ctx, "v1", "main"); err != nil {
		t.Error(err)
	}
	if _, err := r.Resolve(ctx, "nosuch"); err == nil {
		t.Error("no error")
	}
	// A promised blob that is not here is not fetched.
	partial := g.git("commit-tree", "-m", "p", g.rawTree("100644", "x", "1234567890123456789012345678901234567890"))
	g.git("-c", "core.hooksPath=/dev/null", "update-ref", "refs/heads/partial", partial)
	if s := ran(); s != "" {
		t.Fatalf("setting up ran %s", s)
	}
	_, _, err = r.At(ctx, "partial")
	wantErr(t, err, "partial")
	if s := ran(); s != "" {
		t.Errorf("it ran:\n%s", s)
	}
}

// The traps above are real ones: plain git walks into them.
func TestTheSentinelWouldRun(t *testing.T) {
	g, ran := sentinelRepo(t)
	g.git("config", "--unset", "core.worktree")
	g.git("config", "--unset", "blame.ignoreRevsFile")
	g.write("fettle.hcl", "changed\n")
	for _, args := range [][]string{{"status"}, {"diff"}, {"blame", "fettle.hcl"},
		{"cat-file", "-p", "1234567890123456789012345678901234567890"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = g.dir
		_ = cmd.Run()
	}
	for _, want := range []string{"fsmonitor", "clean", "smudge", "sentinel diff", "textconv", "post-index-change"} {
		if !strings.Contains(ran(), want) {
			t.Errorf("plain git did not run %s:\n%s", want, ran())
		}
	}
}
