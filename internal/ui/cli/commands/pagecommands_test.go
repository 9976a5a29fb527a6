package commands

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/web"
	"fettle.dev/fettle/test/fakehub"
)

// TestCommandsOfPages: the command that a page in a browser shows exists, and accepts these words and flags.
func TestCommandsOfPages(t *testing.T) {
	hub := fakehub.Serve(t, fakehub.Hostile{Rights: []string{"read"}, Text: "abcdefg"})
	site := web.New(web.Config{Client: func(*http.Request) (*client.Client, error) { return hub, nil }})
	shown := regexp.MustCompile(`<pre tabindex="0">fettle ([^\n<]*)`)
	for _, path := range []string{"/", "/?select=web1", "/targets/x", "/targets/x?explain=x", "/commits/abcdefg",
		"/modules", "/modules/x", "/rollouts", "/rollouts/r1", "/inbox", "/jobs", "/jobs/j1", "/events", "/hubs", "/audit",
		"/search?q=nginx", "/search?q=-x", "/locks", "/locks/abcdefg/release?target=abcdefg", "/barriers", "/signals",
		"/signals/abcdefg"} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		found := shown.FindStringSubmatch(w.Body.String())
		if found == nil {
			t.Errorf("%s shows no command: %d", path, w.Code)
			continue
		}
		c, rest, err := (&cli.App{Now: time.Now, Commands: All(nil)}).Root().Find(strings.Fields(found[1]))
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err == nil && c.HasSubCommands() {
			t.Errorf("%s: fettle %s only lists commands", path, found[1])
		}
		if err == nil {
			err = c.ValidateArgs(c.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: fettle %s: %v", path, found[1], err)
		}
	}
}
