package content_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
)

// locked is a git server that requires a password, and the source with the password. Its repository does not exist.
func locked(t *testing.T) (src content.Source, entered *atomic.Bool) {
	t.Helper()
	entered = &atomic.Bool{}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); ok && user == "ann" && password == "secret" {
			entered.Store(true)
			http.NotFound(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	root := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return content.Source{Name: "site", URL: s.URL + "/site.git", Refs: []string{"main"}, Access: repo.Access{
		Authority:   write("root.pem", string(root)),
		Credentials: write("credentials", strings.Replace(s.URL, "https://", "https://ann:secret@", 1)+"\n")}}, entered
}

// TestCredentials: a hub reads branches and histories with the credentials of their source.
func TestCredentials(t *testing.T) {
	src, entered := locked(t)
	failed := make(chan error, 1)
	s := &content.Sources{Dir: t.TempDir(), Changed: func(string, map[string]fleet.Revision) {},
		Failed: func(_ string, err error) {
			select {
			case failed <- err:
			default:
			}
		}}
	if err := s.Set([]content.Source{src}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextOf(t)
	ended := make(chan struct{})
	go func() { defer close(ended); s.Run(ctx) }()
	if err := <-failed; err == nil || !entered.Load() {
		t.Errorf("the branches are listed without the password: %v", err)
	}
	stop()
	<-ended
	src, entered = locked(t)
	if _, err := content.ReadFrom(t.Context(), t.TempDir(), src, strings.Repeat("a", 40), nil); err == nil ||
		!entered.Load() {
		t.Errorf("the history is read without the password: %v", err)
	}
}
