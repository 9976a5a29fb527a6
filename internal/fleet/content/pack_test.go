package content_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
)

var errDisk = errors.New("input/output error")

// tricky is a tree with replaced functions.
type tricky struct {
	repo.Tree
	digest func(path, digest string, size int64) (string, int64, error)
	open   func(path string) (io.ReadCloser, error)
	// readlink replaces the tree's method.
	readlink func(path string) (string, error)
}

func (t tricky) Readlink(path string) (string, error) {
	if t.readlink != nil {
		return t.readlink(path)
	}
	return t.Tree.Readlink(path)
}

func (t tricky) Digest(path string) (string, int64, error) {
	digest, size, err := t.Tree.Digest(path)
	if err == nil && t.digest != nil {
		return t.digest(path, digest, size)
	}
	return digest, size, err
}

func (t tricky) Open(path string) (io.ReadCloser, error) {
	if t.open != nil {
		return t.open(path)
	}
	return t.Tree.Open(path)
}

// full is a disk with this number of free bytes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errDisk
	}
	return len(b), nil
}

// TestPartsWithoutDirectory: a repository without modules has only the root bundle; modules must be a directory.
func TestPartsWithoutDirectory(t *testing.T) {
	parts, err := content.Parts(repo.MapTree(map[string]string{"fettle.hcl": "", "module": ""}))
	if err != nil || !slices.Equal(parts, []string{content.RootBundle}) {
		t.Errorf("without modules: %q, %v", parts, err)
	}
	parts, err = content.Parts(repo.MapTree(map[string]string{"fettle.hcl": "", "modules": "text"}))
	if parts != nil || err == nil || !strings.Contains(err.Error(), "modules is not a directory") {
		t.Errorf("a file: %q, %v", parts, err)
	}
}

// TestPackRefuses: a bundle is within its limits and has the content of the listed tree; otherwise
// Pack fails.
func TestPackRefuses(t *testing.T) {
	tree := repo.MapTree(map[string]string{"fettle.hcl": "", "modules/web/a.hcl": "text", "modules/web/b.hcl": "more"})
	linked := parse(t, raw(link("a", "b"))).Tree()
	linked, err := content.Compose(repo.MapTree(nil), map[string]repo.Tree{"modules/web": linked}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sized := func(size int64) tricky {
		return tricky{Tree: tree, digest: func(_, digest string, _ int64) (string, int64, error) { return digest, size, nil }}
	}
	named := func(digest string) tricky {
		return tricky{Tree: tree, digest: func(_, _ string, size int64) (string, int64, error) { return digest, size, nil }}
	}
	opened := func(text string, err error) tricky {
		return tricky{Tree: tree, open: func(string) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)),
				err
		}}
	}
	for what, c := range map[string]struct {
		tree repo.Tree
		part string
		says string
	}{
		"a module":          {tree, "modules/web", ""},
		"the top":           {tree, "", ""},
		"a file":            {tree, "modules/web/a.hcl", "a part is the root bundle or a directory modules/NAME"},
		"another spelling":  {tree, "modules/web/", "a part is the root bundle or a directory modules/NAME"},
		"all modules":       {tree, "modules", "a part is the root bundle or a directory modules/NAME"},
		"a file too large":  {sized(256<<20 + 1), "modules/web", "is larger than 256 MiB"},
		"as large as it is": {sized(256 << 20), "modules/web", "its content changed while it was read"},
		"less than nothing": {sized(-1), "modules/web", "is larger than 256 MiB"},
		"no digest":         {named("sha256:"), "modules/web", `has the invalid digest "sha256:"`},
		"half a digest":     {named("sha256:aabb"), "modules/web", `has the invalid digest "sha256:aabb"`},
		"text for a digest": {named("sha256:" + strings.Repeat("x", 64)), "modules/web", "has the invalid digest"},
		"no answer": {tricky{Tree: tree, digest: func(string, string, int64) (string, int64, error) {
			return "", 0,
				errDisk
		}}, "modules/web",
			errDisk.Error()},
		"a link without an answer": {tricky{Tree: linked, readlink: func(string) (string, error) { return "", errDisk }},
			"modules/web", errDisk.Error()},
		"not to be opened": {opened("", errDisk), "modules/web", errDisk.Error()},
		"other content":    {opened("TEXT", nil), "modules/web", "its content changed while it was read"},
		"less content":     {opened("tex", nil), "modules/web", "its content changed while it was read"},
		"more content":     {opened("text and more", nil), "modules/web", "its content changed while it was read"},
	} {
		var b bytes.Buffer
		name, err := content.Pack(&b, c.tree, c.part)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || name.Digest != "" {
				t.Errorf("%s: %q, %v", what, name.Digest, err)
			}
			continue
		}
		got, perr := content.Parse(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil || perr != nil || name.Size != int64(b.Len()) || got == nil {
			t.Errorf("%s: %+v, %v, %v", what, name, err, perr)
		}
	}
	// A full disk is an error at any point.
	whole := &bytes.Buffer{}
	if _, err := content.Pack(whole, tree, "modules/web"); err != nil {
		t.Fatal(err)
	}
	for room := range whole.Len() + 1 {
		if _, err := content.Pack(&full{room}, tree, "modules/web"); (err == nil) != (room == whole.Len()) {
			t.Errorf("with %d of %d bytes: %v", room, whole.Len(), err)
		}
	}
}

// TestBasesThatAreWrong: a base with wrong content is asked for the complete content once more, and
// then no longer. A base that fails is tried in each round, and no other base continues its partial
// content.
func TestBasesThatAreWrong(t *testing.T) {
	hub, agent := memStore(t, 0), memStore(t, 0)
	text := noise(1000)
	want := mustAdd(t, hub, text)
	asked := func(h http.HandlerFunc) (string, *atomic.Int32) {
		n := &atomic.Int32{}
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.Add(1); h(w, r) })), n
	}
	wrong, wrongs := asked(func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = io.WriteString(w, strings.Repeat("x", len(text)))
	})
	failing, fails := asked(func(w http.ResponseWriter,
		_ *http.Request) {
		http.Error(w, "away", http.StatusServiceUnavailable)
	})
	err := fetcher(agent, wrong, failing).Fetch(t.Context(), want)
	wantErr(t, err, "cannot fetch the content", failing, "503", "away")
	if wrongs.Load() != 2 || fails.Load() != 3 {
		t.Errorf("the wrong base was asked %d times, the failing one %d times", wrongs.Load(), fails.Load())
	}
	if err := fetcher(agent, wrong).Fetch(t.Context(), want); err == nil ||
		!strings.Contains(err.Error(), "all servers delivered wrong content") {
		t.Errorf("only wrong bases: %v", err)
	}
	half, _ := asked(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", len(text)/2))
		panic(http.ErrAbortHandler)
	})
	right := serve(t, &content.Server{Store: hub, Authorize: everything})
	if err := fetcher(agent, half, wrong, right).Fetch(t.Context(), want); err != nil || read(t, agent, want) != text {
		t.Errorf("beside bases that are wrong: %v", err)
	}
}

// TestAnswersOfServers: an invalid answer is never accepted as content.
func TestAnswersOfServers(t *testing.T) {
	hub := memStore(t, 0)
	text := noise(1000)
	want := mustAdd(t, hub, text)
	for what, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		says   string
	}{
		"a range that was not asked for": {206, map[string]string{"Content-Range": "bytes 5-999/1000"}, text[5:],
			"a different range"},
		"a range without a name": {206, nil, text, "a different range"},
		"another encoding":       {200, map[string]string{"Content-Encoding": "br"}, text, `in the encoding "br"`},
		"no zstd":                {200, map[string]string{"Content-Encoding": "zstd"}, text, ""},
		"a range of zstd": {206, map[string]string{"Content-Range": "bytes 0-999/1000",
			"Content-Encoding": "zstd"}, text, "a range of compressed content"},
		"too little":        {200, nil, text[:999], "it ended after 999 of 1000 bytes"},
		"too much":          {200, nil, text + "x", ""},
		"nothing new":       {304, nil, "", "it answered 304"},
		"another direction": {302, map[string]string{"Location": "/"}, "", "it answered 302"},
	} {
		base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		f := fetcher(memStore(t, 0), base)
		f.Attempts = 1
		if err := f.Fetch(t.Context(), want); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
