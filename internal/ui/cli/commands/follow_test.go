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

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/commands"
	"fettle.dev/fettle/test/hubs"
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
	hub, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer hub.Close()
	token, err := hub.Token(t.Context(), "jane", "admin")
	if err != nil {
		t.Fatal(err)
	}
	web1 := route.TargetName{Target: "web1"}
	home := t.TempDir()
	run := func(ctx context.Context, in string, out *screen, args ...string) int {
		app := &cli.App{
			Stdin: strings.NewReader(in), Stdout: out, Stderr: out, Now: hub.Time, Language: toyLanguage(),
			Commands: commands.All(nil),
			Hostname: func() (string, error) { return "web1", nil },
			Env:      func(name string) string { return map[string]string{"HOME": home}[name] },
		}
		return app.Main(ctx, args)
	}
	if code := run(t.Context(), token, &screen{seen: func(string) {}}, "login", hub.URL, "--ca-digest",
		hub.Authority); code != 0 {
		t.Fatal("cannot log in")
	}
	if _, err := os.Stat(filepath.Join(home, ".config/fettle/hub.json")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, first, then string }{
		{"events --watch", "cannot restart nginx", "froze by root"},
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
				if _, err := client.Call(ctx, hub.Root, route.FreezeTarget(), web1,
					document.FreezeRequest{Reason: c.command}); err != nil {
					t.Error(err)
				}
				if _, err := client.Call(ctx, hub.Root, route.PinTarget(), web1,
					document.PinRequest{Ref: "next"}); err != nil {
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
		if _, err := client.Call(t.Context(), hub.Root, route.UnpinTarget(), web1, document.UnpinRequest{}); err != nil {
			t.Fatal(err)
		}
	}
}
