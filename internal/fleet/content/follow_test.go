package content_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

func ExampleFollow() {
	now := time.Unix(1_700_000_000, 0)
	var f content.Follow
	f.Watch("site", time.Minute, now)
	fmt.Println(f.Due(now), f.Due(now))
	f.Done("site", true, now)
	at, _ := f.Next()
	fmt.Println(at.Sub(now) > 50*time.Second && at.Sub(now) <= time.Minute)
	f.Poke("site", now.Add(time.Second))
	at, _ = f.Next()
	fmt.Println(at.Sub(now))
	// Output:
	// [site] []
	// true
	// 5s
}

// TestFollow: for any sequence of events, a source is polled once at a time, never twice within
// MinEvery, and never forgotten.
func TestFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_700_000_000, 0)
		var f content.Follow
		every := time.Duration(rapid.IntRange(0, 100).Draw(t, "every")) * time.Minute
		f.Watch("a", every, now)
		running, last, fails := false, time.Time{}, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				now = now.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "seconds")) * time.Second)
			case 1:
				if !f.Poke("a", now) || f.Poke("b", now) {
					t.Fatal("the wrong source is poked")
				}
			case 2:
				if due := f.Due(now); len(due) > 0 {
					if running || now.Sub(last) < content.MinEvery {
						t.Fatalf("asked again %s after the last time", now.Sub(last))
					}
					running, last = true, now
				}
			case 3:
				if running {
					ok := rapid.Bool().Draw(t, "ok")
					if fails++; ok {
						fails = 0
					}
					f.Done("a", ok, now)
					running = false
				}
			}
			if at, ok := f.Next(); ok == running || ok && at.Sub(now) > max(every, content.MaxPause) {
				t.Fatalf("due %s, %v after %d failures", at.Sub(now), ok, fails)
			}
		}
	})
}

// TestFollowBacksOff: a failing source is polled with growing pauses, and at once after a webhook.
// A webhook during a poll is not lost.
func TestFollowBacksOff(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	var f content.Follow
	f.Watch("a", time.Minute, now)
	var pauses []time.Duration
	for range 8 {
		f.Due(now)
		f.Done("a", false, now)
		at, _ := f.Next()
		pauses = append(pauses, at.Sub(now).Round(10*time.Minute))
		now = at
	}
	if !slices.IsSorted(pauses) || pauses[7] != 30*time.Minute {
		t.Errorf("pauses of %v", pauses)
	}
	f.Due(now)
	f.Poke("a", now)
	now = now.Add(time.Minute)
	f.Done("a", true, now)
	if got := f.Due(now); len(got) != 1 {
		t.Error("a hook that came while the source was asked is lost")
	}
	f.Forget("a")
	f.Done("a", true, now)
	if _, ok := f.Next(); ok {
		t.Error("a source that is forgotten is due")
	}
}

func TestHooks(t *testing.T) {
	body := `{"ref":"refs/heads/main"}`
	mac := hmac.New(sha256.New, []byte("secret"))
	mac.Write([]byte(body))
	sum := hex.EncodeToString(mac.Sum(nil))
	empty := hmac.New(sha256.New, nil)
	empty.Write([]byte(body))
	for _, c := range []struct {
		source, name, value string
		code                int
	}{
		{"site", "X-Hub-Signature-256", "sha256=" + sum, 204},
		{"site", "X-Gitea-Signature", sum, 204},
		{"site", "X-Gitlab-Token", "secret", 204},
		{"site", "X-Gitlab-Token", "secreT", 403},
		{"site", "X-Gitlab-Token", "", 403},
		{"site", "X-Hub-Signature-256", "sha256=" + strings.Repeat("0", 64), 403},
		{"site", "X-Hub-Signature-256", "sha1=" + sum, 403},
		{"site", "X-Hub-Signature-256", sum, 403},
		{"site", "X-Gitea-Signature", sum[:10], 403},
		{"site", "X-Gitea-Signature", "", 403},
		{"other", "X-Gitea-Signature", sum, 403},
		{"", "X-Gitea-Signature", sum, 403},
		{"open", "X-Gitea-Signature", hex.EncodeToString(empty.Sum(nil)), 403},
		{"site/../site", "X-Gitea-Signature", sum, 403},
	} {
		poked := ""
		h := content.Hooks{Poke: func(s string) { poked = s }, Secret: func(s string) []byte {
			return map[string][]byte{"site": []byte("secret"), "open": {}}[s]
		}}
		r := httptest.NewRequest("POST", content.HookPath+c.source, strings.NewReader(body))
		r.Header.Set(c.name, c.value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.code || (poked == "site") != (c.code == 204) {
			t.Errorf("%s of %q: %d, poked %q; want %d", c.name, c.source, w.Code, poked, c.code)
		}
	}
	if w := get(t, content.Hooks{}, http.MethodGet, content.HookPath+"site"); w.Code != 405 {
		t.Error(w.Code)
	}
}

// TestSources: from a push to the resolved commit, by a webhook. If the source becomes unreachable,
// the resolved commits stay and the failure is reported, also after a restart; then the source
// returns.
func TestSources(t *testing.T) {
	g := site(t)
	first := g.commit("first")
	changed, failed, answered := make(chan map[string]fleet.Revision, 9), make(chan error, 9), make(chan string, 99)
	dir := t.TempDir()
	start := func() (*content.Sources, func()) {
		s := &content.Sources{Dir: dir, Gap: time.Millisecond,
			Changed: func(_ string, refs map[string]fleet.Revision) { changed <- refs },
			Failed:  func(_ string, err error) { failed <- err }, Answered: func(name string) { answered <- name }}
		err := s.Set([]content.Source{{Name: "site", URL: "file://" + g.dir, Refs: []string{"main"}, Every: time.Hour},
			{Name: "../x", URL: "file:///x"}, {Name: "y", URL: "ext::id"}})
		wantErr(t, err, `cannot use "../x" as the name of a repository`, "cannot follow the repository y")
		ended := make(chan struct{})
		ctx, stop := contextOf(t)
		go func() { defer close(ended); s.Run(ctx) }()
		return s, func() { stop(); <-ended }
	}
	s, stop := start()
	if refs := <-changed; refs["main"].Commit != first || refs["main"].Repository != "site" ||
		refs["main"].Subject != "first" || refs["main"].Time != g.when {
		t.Errorf("%+v", refs)
	}
	<-answered
	second := g.commit("second")
	s.Poke("site")
	if refs := <-changed; refs["main"].Commit != second {
		t.Errorf("%+v", refs)
	}
	rev, _ := s.Resolved("site", "main")
	parts, err := s.Pack(t.Context(), rev, memStore(t, 0))
	if err != nil || len(parts) != 3 || parts[2].Module != "modules/web" || parts[0].Revision.Commit != second {
		t.Errorf("%+v, %v", parts, err)
	}
	stop()
	if err := os.Rename(g.dir, g.dir+"x"); err != nil {
		t.Fatal(err)
	}
	s, stop = start()
	if refs := <-changed; refs["main"].Commit != second {
		t.Errorf("after a restart: %+v", refs)
	}
	wantErr(t, <-failed, "cannot list the branches")
	if rev, ok := s.Resolved("site", "main"); !ok || rev.Commit != second {
		t.Error("what was resolved is gone")
	}
	if err := os.Rename(g.dir+"x", g.dir); err != nil {
		t.Fatal(err)
	}
	third := g.commit("third")
	s.Poke("site")
	if refs := <-changed; refs["main"].Commit != third {
		t.Errorf("%+v", refs)
	}
	if err := s.Tidy(t.Context(), "site", func(c string) bool { return c == second }); err != nil {
		t.Error(err)
	}
	rev.Commit = first
	if _, err := s.Pack(t.Context(), rev, memStore(t, 0)); err == nil {
		t.Error("a commit that nobody keeps is still there")
	}
	if _, end, err := s.Tree(t.Context(), fleet.Revision{Repository: "site", Commit: second}); err != nil || end() != nil {
		t.Error(err)
	}
	if _, _, err := s.Tree(t.Context(), fleet.Revision{Repository: "../site", Commit: second}); err == nil {
		t.Error("a path is taken for a source")
	}
	stop()
}

// A missing ref is reported, and the other refs keep their interval. Otherwise each failure would
// double the pause, and this test would take minutes.
func TestRefThatIsMissing(t *testing.T) {
	g := site(t)
	g.commit("first")
	failed := make(chan error, 99)
	s := &content.Sources{Dir: t.TempDir(), Gap: time.Millisecond, Changed: func(string, map[string]fleet.Revision) {},
		Failed: func(_ string, err error) {
			select {
			case failed <- err:
			default:
			}
		}}
	if err := s.Set([]content.Source{{Name: "site", URL: "file://" + g.dir, Refs: []string{"main", "nope"},
		Every: 10 * time.Millisecond}}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	ctx, stop := contextOf(t)
	go func() { defer close(ended); s.Run(ctx) }()
	for range 16 {
		select {
		case err := <-failed:
			wantErr(t, err, "nope")
		case <-time.After(time.Minute):
			t.Fatal("it is asked less and less often")
		}
	}
	if _, ok := s.Resolved("site", "main"); !ok {
		t.Error("main is not resolved")
	}
	stop()
	<-ended
}
