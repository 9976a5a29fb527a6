package content_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host/mem"
)

// unread fails the test if any byte of it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error)          { u.t.Error("it is read"); return 0, io.EOF }
func (u unread) ReadAt([]byte, int64) (int, error) { u.t.Error("it is read"); return 0, io.EOF }
func (u unread) RoundTrip(*http.Request) (*http.Response, error) {
	u.t.Error("a hub is asked")
	return nil, errDisk
}

// TestWhatIsTooLargeIsNotRead: bundles above the size limit, and webhooks without a signature, are
// refused without being read.
func TestWhatIsTooLargeIsNotRead(t *testing.T) {
	_, err := content.Parse(unread{t}, content.MaxBundle+1)
	wantErr(t, err, "more than 2048 MiB")
	h := content.Hooks{Poke: func(string) { t.Error("a source is poked") },
		Secret: func(string) []byte { return []byte("secret") }}
	r := httptest.NewRequest(http.MethodPost, content.HookPath+"site", unread{t})
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusForbidden {
		t.Errorf("%d", w.Code)
	}
}

// TestFetchOfPresentContent: present content is not downloaded; damaged content is downloaded
// again.
func TestFetchOfPresentContent(t *testing.T) {
	hub, files := memStore(t, 0), mem.NewFS(mem.Options{})
	agent, err := content.OpenStore(files, "/content", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := mustAdd(t, agent, "content")
	mustAdd(t, hub, "content")
	f := &content.Fetcher{Store: agent, Bases: func() []string { t.Error("a hub is asked"); return nil },
		Transport: unread{t}}
	if err := f.Fetch(t.Context(), want); err != nil {
		t.Error(err)
	}
	overwrite(t, files, "/content/"+hexOf("content"), "CONTENT")
	if err := fetcher(agent, serve(t, &content.Server{Store: hub, Authorize: everything})).Fetch(t.Context(),
		want); err != nil || read(t, agent, want) != "content" {
		t.Errorf("damaged content: %v", err)
	}
	if err := fetcher(agent, serve(t, &content.Server{Store: hub, Authorize: everything})).Fetch(t.Context(),
		mustAdd(t, hub, "")); err != nil || !agent.Has(nameOf("")) {
		t.Errorf("empty content: %v", err)
	}
}

// TestAcknowledgedContentIsDurable: content that was added or fetched is complete after any power
// failure.
func TestAcknowledgedContentIsDurable(t *testing.T) {
	for seed := range uint64(16) {
		h := mem.New(mem.Options{})
		s, err := content.OpenStore(h, "/content", 0)
		if err != nil {
			t.Fatal(err)
		}
		mustAdd(t, s, "added")
		p, err := s.Begin(nameOf("fetched"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.WriteString(p, "fetched"); err == nil {
			err = p.Commit()
		}
		if err := errors.Join(err, p.Close()); err != nil {
			t.Fatal(err)
		}
		after, err := content.OpenStore(h.Crash(rand.New(rand.NewPCG(seed, 1))), "/content", 0)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := read(t, after, nameOf("added")), read(t, after, nameOf("fetched")); a != "added" || b != "fetched" {
			t.Fatalf("seed %d: %q, %q", seed, a, b)
		}
	}
}

// TestBeginningCountsOnce: the received bytes of a download are not reserved again when it
// continues.
func TestBeginningCountsOnce(t *testing.T) {
	s := memStore(t, 100)
	for range 3 {
		p, err := s.Begin(nameOf(strings.Repeat("a", 60)))
		if err != nil {
			t.Fatal(err)
		}
		if s.Used() != 60 {
			t.Errorf("%d bytes are reserved", s.Used())
		}
		if _, err := io.WriteString(p, strings.Repeat("a", 50)[p.Offset():]); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := s.Begin(fleet.Bundle{Digest: "sha256:../x", Size: 1}); err == nil || p != nil {
		t.Error("a path is taken for a digest")
	}
	if b, end, err := content.OpenBundle(s, mustAdd(t, s, "no bundle")); err == nil || b != nil || end != nil {
		t.Error("any content is a bundle")
	}
}

// TestPartsHaveTheCommit: each part of a commit is recorded with the time and the subject of the commit.
func TestPartsHaveTheCommit(t *testing.T) {
	g := site(t)
	p := g.pack(g.commit("first\n\nwith a body"))
	for _, a := range p.parts {
		if a.Revision.Time != g.when || a.Revision.Subject != "first" || a.Revision.Repository != "site" {
			t.Errorf("%q: %+v", a.Module, a.Revision)
		}
	}
	a, b, proof := p.part(t, content.RootBundle)
	_, err := content.Verify(proof, b, claim(a), content.Trust{})
	wantErr(t, err, "cannot trust the root bundle at commit "+a.Revision.Commit[:12])
	_, err = content.PackAll(t.Context(), g.open(), fleet.Revision{Repository: "site", Commit: a.Revision.Commit[:12]},
		memStore(t, 0))
	wantErr(t, err, "not the full hash of a commit")
}

// TestCommandsThatAreNotRead: a text without a signature, of another format, or with parameters
// that are not JSON.
func TestCommandsThatAreNotRead(t *testing.T) {
	file, _ := newKey(t, "ed25519")
	c := restart()
	c.Params = []byte("{")
	if text, err := c.Text(); err == nil || text != nil {
		t.Errorf("parameters that are no JSON: %s", text)
	}
	if signed, err := c.Sign(signingKey(t, file)); err == nil || signed != "" {
		t.Error("parameters that are no JSON are signed")
	}
	_, err := content.ReadCommand("{}")
	wantErr(t, err, "it has no signature")
	newer := strings.Replace(signedCommand(t, file, restart()), content.CommandFormat, "fettle.signed-command/2", 1)
	_, err = content.ReadCommand(newer)
	wantErr(t, err, "its format is not "+content.CommandFormat)
}
