package flood

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/needs"
)

func long() bool { return os.Getenv("FETTLE_LONG") != "" }

// user returns a client of a new user.
func (h *hub) user(name string) *client.Client {
	h.t.Helper()
	if _, err := client.Post(h.t.Context(), h.root, route.SetUser(), document.UserRequest{Name: name, Roles: []string{"read"}}); err != nil {
		h.t.Fatal(err)
	}
	login, err := client.Call(h.t.Context(), h.root, route.CreateLogin(), route.UserName{User: name}, document.LoginRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	authority, err := client.Authority(h.t.Context(), "https://"+h.api)
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := client.New(client.Login{Hub: "https://" + h.api, Token: login.Secret, Authority: authority})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// serves asks for all that must work during an attack.
func (h *hub) serves(name string, ann *client.Client) {
	h.t.Helper()
	if _, err := client.Get(h.t.Context(), h.root, route.Status()); err != nil {
		h.t.Errorf("%s: the socket: %v", name, err)
	}
	h.await(name+": the API for a user", func() error { _, err := client.Get(h.t.Context(), ann, route.Status()); return err })
	h.await(name+": the API through a new connection", h.answers)
	h.follows(name)
	h.enrol(name)
}

// A hub with 1,500 open files and 256 MiB serves users, root, git, its agents and new hosts, while
// attackers use each route that is open to them.
func TestFlood(t *testing.T) {
	needs.Program(t, "prlimit")
	h := &hub{t: t, dir: t.TempDir()}
	h.start()
	ann := h.user("ann")
	kept := h.enrol("web0")
	old := h.token()
	if _, err := client.Call(t.Context(), h.root, route.RevokeToken(), route.TokenID{Token: old.Token.ID},
		document.ReasonRequest{}); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]func() net.IP{"one": one, "many": many} {
		ctx, end := context.WithCancel(t.Context())
		a := &attackers{hub: h, from: from, token: old.Secret}
		wait := a.begin(ctx, map[string]int{"idle at the API": 1000, "idle at the bus": 1000, "half at the API": 100,
			"half at the bus": 100, "unused": 50, "slow": 50, "guess": 8})
		h.await(name+": the flood", func() error {
			if h.files() < 300 && a.count[0].Load() < 3000 {
				return context.DeadlineExceeded
			}
			return nil
		})
		h.serves(name, ann)
		if long() {
			for end := time.Now().Add(time.Minute); time.Now().Before(end); {
				h.await(name+": the API for a user", func() error { _, err := client.Get(t.Context(), ann, route.Status()); return err })
				pause(ctx, time.Second)
			}
			h.serves(name+"-later", ann)
		}
		if n := h.files(); n > 1125 {
			t.Errorf("%s: %d of 1500 files are open, of which a quarter is reserved", name, n)
		}
		t.Logf("%s: %d connections, %d without success; the hub has %d open files and had %d KiB", name, a.count[0].Load(),
			a.count[1].Load(), h.files(), h.peak())
		end()
		wait()
	}
	if n := kept.lost.Load(); n > 0 {
		t.Errorf("the agent lost its connection %d times", n)
	}
	if n := h.memory.killed(t); n > 0 {
		t.Errorf("the kernel killed %d processes", n)
	}
}
