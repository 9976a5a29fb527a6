package commands_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/commands"
)

// screen keeps what is written, and calls seen with all of it each time.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen func(string)
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	s.text.Write(b)
	text := s.text.String()
	s.mu.Unlock()
	s.seen(text)
	return len(b), nil
}

// What is followed or watched shows what changes while it is looked at, and ends well
// when it is stopped.
func TestLooksThatGoOn(t *testing.T) {
	hub, err := apitest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	server, err := apitest.Serve(hub.Handler(), "hub")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	authority, err := client.Authority(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	run := func(ctx context.Context, in string, out *screen, args ...string) int {
		app := &cli.App{
			Stdin: strings.NewReader(in), Stdout: out, Stderr: out, Now: time.Now, Language: toyLanguage(),
			Commands: commands.All(nil),
			Hostname: func() (string, error) { return "web1", nil },
			Env:      func(name string) string { return map[string]string{"HOME": home}[name] },
		}
		return app.Main(ctx, args)
	}
	if code := run(t.Context(), "admin", &screen{seen: func(string) {}}, "login", server.URL, "--ca-digest",
		authority); code != 0 {
		t.Fatal("cannot log in")
	}
	if _, err := os.Stat(filepath.Join(home, ".config/fettle/hub.json")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, first, then string }{
		{"events --watch", "cannot restart nginx", "froze by jane"},
		{"events --watch --json -t web1", `"kind":"applied"`, `"kind":"froze"`},
		{"target show web1 --watch", "standing", "pinned to next"},
		{"target list --watch --json", `"name":"web1"`, `"ref":"next"`},
	} {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		changed := false
		out := &screen{}
		out.seen = func(text string) {
			if !changed && strings.Contains(text, c.first) {
				changed = true
				if err := hub.Freeze(ctx, access.NewPrincipal("jane", "test"), "aaaaaaaaaaaaaaaaaaaaaaaaaa",
					document.FreezeRequest{Reason: c.command}); err != nil {
					t.Error(err)
				}
				if err := hub.Pin(ctx, access.NewPrincipal("jane", "test"), "aaaaaaaaaaaaaaaaaaaaaaaaaa",
					fleet.Pin{Ref: "next"}); err != nil {
					t.Error(err)
				}
			}
			if changed && strings.Contains(text, c.then) {
				stop()
			}
		}
		if code := run(ctx, "", out, strings.Fields(c.command)...); code != 0 ||
			!strings.Contains(out.text.String(), c.then) {
			t.Errorf("%s: %d\n%s", c.command, code, out.text.String())
		}
		stop()
		if err := hub.Unpin(t.Context(), access.Principal{}, "aaaaaaaaaaaaaaaaaaaaaaaaaa", ""); err != nil {
			t.Fatal(err)
		}
	}
}
