package content

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host/mem"
)

func emptyStore(t *testing.T, limit int64) *Store {
	t.Helper()
	s, err := OpenStore(mem.NewFS(mem.Options{}), "/content", limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func named(digit string, size int64) fleet.Bundle {
	return fleet.Bundle{Digest: "sha256:" + strings.Repeat(digit, 64), Size: size}
}

// TestRoomForContent: the accepted sizes of content. Partial downloads that are too long or too old
// are removed.
func TestRoomForContent(t *testing.T) {
	for size, good := range map[int64]bool{-1: false, 0: true, 100: true, 101: false, MaxBundle + 1: false} {
		s := emptyStore(t, 100)
		p, err := s.Begin(named("a", size))
		if (err == nil) != good || errors.Is(err, ErrFull) != (size == 101) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if good && (s.Used() != size || p.Close() != nil) {
			t.Errorf("%d bytes: %d are reserved", size, s.Used())
		}
	}
	if s := emptyStore(t, 2*MaxBundle); s != nil {
		if _, err := s.Begin(named("a", MaxBundle)); err != nil {
			t.Errorf("the largest bundle: %v", err)
		}
	}
	s := emptyStore(t, 100)
	begin := func(b fleet.Bundle, text string) *Partial {
		t.Helper()
		p, err := s.Begin(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := begin(named("a", 50), "0123456789")
	if _, err := s.Begin(named("a", 50)); !errors.Is(err, ErrBusy) {
		t.Errorf("a second writer: %v", err)
	}
	if _, err := p.Write(make([]byte, 41)); !errors.Is(err, ErrDigestMismatch) || p.Offset() != 10 {
		t.Errorf("more than was named: %v, %d", err, p.Offset())
	}
	if err := p.Close(); err != nil || s.Used() != 10 {
		t.Errorf("%d bytes of a beginning, %v", s.Used(), err)
	}
	if p = begin(named("a", 10), ""); p.Offset() != 10 {
		t.Errorf("it goes on at %d", p.Offset())
	}
	if err := errors.Join(p.Restart(), p.Close()); err != nil || s.Used() != 0 {
		t.Errorf("%d bytes, %v", s.Used(), err)
	}
	if err := begin(named("a", 50), "0123456789").Close(); err != nil {
		t.Fatal(err)
	}
	if p = begin(named("a", 9), ""); p.Offset() != 0 || p.Close() != nil {
		t.Errorf("a beginning that is longer than all counts: %d", p.Offset())
	}
	for _, digit := range "0123456789abcdef" {
		if err := begin(named(string(digit), 2), "x").Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.partial) != maxPartial {
		t.Errorf("%d beginnings", len(s.partial))
	}
	if err := begin(fleet.Bundle{Digest: "sha256:" + strings.Repeat("0", 63) + "1", Size: 2}, "x").Close(); err != nil ||
		len(s.partial) > maxPartial {
		t.Errorf("%d beginnings, %v", len(s.partial), err)
	}
	if err := s.Remove(fleet.Bundle{Digest: "../x"}); err == nil {
		t.Error("a path is removed")
	}
}

// TestResumedDownloadNeedsNoRoom: a store with the maximum number of partial downloads resumes each of
// them and removes none.
func TestResumedDownloadNeedsNoRoom(t *testing.T) {
	s := emptyStore(t, 100)
	for range 2 {
		for _, digit := range "0123456789abcdef" {
			p, err := s.Begin(named(string(digit), 3))
			if err != nil {
				t.Fatal(err)
			}
			had := p.Offset()
			if _, err := p.Write([]byte("x")); err != nil || p.Close() != nil {
				t.Fatal(err)
			}
			if s.partial[named(string(digit), 3).Digest] != had+1 {
				t.Errorf("the download %c: %d bytes after %d", digit, p.Offset(), had)
			}
		}
	}
	if len(s.partial) != maxPartial || s.Used() != 2*maxPartial {
		t.Errorf("%d downloads with %d bytes", len(s.partial), s.Used())
	}
}

// TestSmallAnswers: content that is too large, or does not compress well, is available only by
// HTTPS.
func TestSmallAnswers(t *testing.T) {
	s := &Server{Store: emptyStore(t, 0)}
	add := func(text string) string {
		t.Helper()
		b, err := s.Store.Add(func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		if err != nil {
			t.Fatal(err)
		}
		return b.Digest
	}
	for size, good := range map[int]bool{0: true, 1: true, MaxSmall: true, MaxSmall + 1: false} {
		b, err := s.Answer(add(strings.Repeat("a", size)))
		if good != (err == nil) || good != (b != nil) || err != nil && !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("%d bytes: %d, %v", size, len(b), err)
		}
	}
	var c packedCache
	if b := c.get("x", packedOne+1, strings.NewReader(strings.Repeat("a", packedOne+1))); b != nil || c.total != 0 {
		t.Errorf("too large content is kept compressed: %d bytes", len(b))
	}
	if _, err := s.Answer(named("a", 1).Digest); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestHookOfNoSource: a webhook without a name in its path does not request a secret.
func TestHookOfNoSource(t *testing.T) {
	for _, path := range []string{HookPath, "/v1/other/site", "/"} {
		asked := false
		h := Hooks{Secret: func(string) []byte { asked = true; return []byte("s") },
			Poke: func(string) { t.Error("a source is poked") }}
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("X-Gitlab-Token", "s")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusForbidden || asked {
			t.Errorf("%s: %d, a secret is asked for: %t", path, w.Code, asked)
		}
	}
}

// TestUnresponsiveBasesComeLast: bases in the same state stay in their order.
func TestUnresponsiveBasesComeLast(t *testing.T) {
	var s unresponsiveBases
	for _, base := range []string{"b", "d"} {
		s.note(base, true)
	}
	if got := s.last([]string{"a", "b", "c", "d", "e"}); !slices.Equal(got, []string{"a", "c", "e", "b", "d"}) ||
		!s.is("b") || s.is("a") {
		t.Errorf("%v", got)
	}
	s.note("b", false)
	if got := s.last([]string{"d", "b", "a"}); !slices.Equal(got, []string{"b", "a", "d"}) {
		t.Errorf("%v", got)
	}
}

// TestSourcesAreSetAgain: changed refs make a source due, each ref counts once, and a removed
// source is forgotten.
func TestSourcesAreSetAgain(t *testing.T) {
	s := &Sources{Dir: t.TempDir()}
	set := func(list ...Source) {
		t.Helper()
		if err := s.Set(list); err != nil {
			t.Fatal(err)
		}
	}
	site := func(refs ...string) Source {
		return Source{Name: "site", URL: "file:///srv/site", Refs: refs, Every: time.Hour}
	}
	set(site("b", "a", "b"), Source{Name: "other", URL: "file:///srv/other"})
	if got := s.sources["site"].Refs; !slices.Equal(got, []string{"a", "b"}) || s.sources["other"].Every != time.Minute {
		t.Errorf("%v", got)
	}
	far := time.Now().Add(time.Hour)
	for _, f := range s.follow.sources {
		f.at = far
	}
	s.refs["other"] = map[string]fleet.Revision{"x": {}}
	set(site("a", "b"))
	if !s.follow.sources["site"].at.Equal(far) {
		t.Error("the same refs make it due")
	}
	if _, known := s.refs["other"]; known || s.follow.sources["other"] != nil || s.follow.sources["site"] == nil {
		t.Error("the wrong source is forgotten")
	}
	if set(site("a")); !s.follow.sources["site"].at.Before(far) {
		t.Error("other refs do not make it due")
	}
}
