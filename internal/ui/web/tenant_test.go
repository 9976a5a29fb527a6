package web_test

import (
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/ui/web"
)

// TestPagesOfOrganizations: the pages of a user of an organization show only its targets. Pages of the whole fleet have
// no entry in the navigation, and answer with a page that the user is not allowed to see them.
func TestPagesOfOrganizations(t *testing.T) {
	hub, err := apitest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	page, err := hub.Target(t.Context(), "web1", apitest.Now())
	if err != nil {
		t.Fatal(err)
	}
	who, err := apitest.Authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer admin"}}})
	if err == nil {
		err = hub.Move(t.Context(), who, page.Target.ID, "acme", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := web.New(web.Config{Client: func(r *http.Request) (*client.Client, error) {
		return client.Inside(hub.Handler(), "approve,operate,admin@acme", r), nil
	}})
	for path, status := range map[string]int{"/": 200, "/targets/web1": 200, "/targets/web1?explain=web": 200,
		"/targets/web2": 404, "/targets/never": 404, "/modules": 200, "/modules/modules/web": 200, "/events": 200,
		"/?by=label:env": 200, "/rollouts": 403, "/inbox": 403, "/locks": 403, "/hubs": 403, "/history": 403,
		"/signals": 403, "/scopes": 403, "/barriers": 403, "/environments": 403} {
		w := read(s, path)
		text := w.Body.String()
		if w.Code != status || !strings.Contains(text, "<h1>") {
			t.Errorf("%s: %d, want %d\n%s", path, w.Code, status, text)
		}
		if other := strings.ReplaceAll(text, "/targets/web2", ""); path != "/targets/web2" &&
			(strings.Contains(other, "web2") || strings.Contains(other, "db1")) {
			t.Errorf("%s names a target of the fleet:\n%s", path, text)
		}
		for _, hidden := range []string{"/rollouts", "/inbox", "/scopes", "/locks", "/hubs", "/history", "/audit",
			"/freeze"} {
			if strings.Contains(text, `href="`+hidden+`"`) || strings.Contains(text, `action="`+hidden+`"`) {
				t.Errorf("%s leads to %s", path, hidden)
			}
		}
	}
	other, unused := read(s, "/targets/web2").Body.String(), read(s, "/targets/web9").Body.String()
	if strings.ReplaceAll(other, "web2", "web9") != unused {
		t.Errorf("an unused name has another page:\n%s\n%s", other, unused)
	}
}
