package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestShareKey: two users share the renderings of a page if they have the same rights and none of them can approve.
func TestShareKey(t *testing.T) {
	key := func(name, path string, rights ...string) string {
		return shareKey(&visit{Request: httptest.NewRequest(http.MethodGet, path, nil),
			user: document.CurrentUser{Name: name, Rights: rights}})
	}
	if key("ann", "/", "read") != key("joe", "/", "read") {
		t.Error("readers do not share a page")
	}
	seen := map[string]bool{}
	for _, k := range []string{key("ann", "/", "read"), key("ann", "/?by=env", "read"), key("ann", "/", "operate", "read"),
		key("ann", "/", "approve", "read"), key("joe", "/", "approve", "read"),
		shareKey(&visit{Request: httptest.NewRequest(http.MethodGet, "/", nil),
			user: document.CurrentUser{Name: "ann", Rights: []string{"read"}, Organization: "acme"}})} {
		if seen[k] {
			t.Errorf("visits that differ share %q", k)
		}
		seen[k] = true
	}
}
