package repo_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

func historyOf(t *testing.T, g *gitRepo, limits repo.MirrorLimits) (h *repo.History, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "h.git")
	h, err := repo.OpenHistory(t.Context(), dir, remoteOf(t, "file://"+g.dir), limits)
	if err != nil {
		t.Fatal(err)
	}
	return h, dir
}

// since are the commits that a history delivers, by their messages.
func since(t *testing.T, g *gitRepo, h *repo.History, commit string, accepted ...string) string {
	t.Helper()
	ids, err := h.Since(t.Context(), commit, accepted, 100)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, id := range ids {
		out = append(out, g.git("log", "-1", "--format=%s", id))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// A history has all ancestors of a commit and can be extended, whether the other side omits files
// or not. It has no files if the other side omits them.
func TestHistory(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, filter := range []string{"true", "false"} {
			g := newGit(t, "--object-format="+format)
			g.git("config", "uploadpack.allowFilter", filter)
			g.write("f", "one\n")
			a := g.commit("a")
			b := g.commit("b")
			g.git("checkout", "-q", "-b", "side", a)
			s := g.commit("s")
			g.git("checkout", "-q", "main")
			g.write("f", "two\n")
			g.commit("c")
			g.git("merge", "-q", "-m", "m", "side")
			m := g.git("rev-parse", "HEAD")
			h, dir := historyOf(t, g, repo.MirrorLimits{})
			if err := h.Fetch(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Since(t.Context(), m, nil, 9); !errors.Is(err, repo.ErrNoCommit) {
				t.Errorf("%s: %v", format, err)
			}
			if err := h.Fetch(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			for want, accepted := range map[string][]string{"b c m s": {b}, "c m s": {b, a}, "c m": {s, b}, "a b c m s": nil,
				"a b c m s ": {strings.Repeat("1", len(a))}} {
				if got := since(t, g, h, m, accepted...); got != strings.TrimSpace(want) {
					t.Errorf("%s, since %q: %q and not %q", format, accepted, got, want)
				}
			}
			if got := since(t, g, h, a, m); got != "b c m" && got != "m s" {
				t.Errorf("%s: from a merge to an ancestor: %q", format, got)
			}
			if _, err := h.Since(t.Context(), m, nil, 4); !errors.Is(err, repo.ErrLongHistory) {
				t.Errorf("%s: %v", format, err)
			}
			var raws []string
			err := h.Read(t.Context(), []string{m, s}, func(raw []byte) error { raws = append(raws, string(raw)); return nil })
			if err != nil || len(raws) != 2 || !strings.Contains(raws[0], "parent "+s) || !strings.HasSuffix(raws[1], "\ns\n") {
				t.Errorf("%s: %q, %v", format, raws, err)
			}
			_, _, err = open(t, dir).At(t.Context(), m)
			if (err == nil) != (filter == "false") {
				t.Errorf("%s: files with the filter %s: %v", format, filter, err)
			}
		}
	}
}

// An interrupted or refused fetch leaves the history as it was, and the next fetch succeeds.
func TestHistoryAfterFailures(t *testing.T) {
	g, first, second := twoCommits(t)
	h, dir := historyOf(t, g, repo.MirrorLimits{})
	if err := h.Fetch(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(g.dir, g.dir+".away"); err != nil {
		t.Fatal(err)
	}
	wantErr(t, h.Fetch(t.Context(), second), "cannot fetch the history of "+second[:12])
	if err := h.Fetch(t.Context(), first); err != nil {
		t.Errorf("a commit that exists is requested: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "objects/pack/tmp_pack_cut"), []byte("PACK"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(g.dir+".away", g.dir); err != nil {
		t.Fatal(err)
	}
	if err := h.Fetch(t.Context(), second); err != nil || len(since(t, g, h, second, first)) == 0 {
		t.Error(err)
	}
	wantErr(t, h.Fetch(t.Context(), "main"), "not the full hash")
	small, _ := historyOf(t, g, repo.MirrorLimits{Size: 1})
	wantErr(t, small.Fetch(t.Context(), second), "it is larger than the limit")
}

// Many fetches do not leave many packs.
func TestHistoryIsRepacked(t *testing.T) {
	g := newGit(t)
	h, dir := historyOf(t, g, repo.MirrorLimits{})
	first, last := "", ""
	for i := range 55 {
		g.write("f", fmt.Sprint(i))
		if last = g.commit(fmt.Sprint(i)); first == "" {
			first = last
		}
		if err := h.Fetch(t.Context(), last); err != nil {
			t.Fatal(err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(packs) > 50 {
		t.Errorf("%d packs, %v", len(packs), err)
	}
	if n := len(strings.Fields(since(t, g, h, last, first))); n != 54 {
		t.Errorf("%d commits", n)
	}
}
