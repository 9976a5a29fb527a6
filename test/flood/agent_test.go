package flood

import (
	"context"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/mem"
)

// agent is an enrolled host with a connection to the hub.
type agent struct{ up, lost atomic.Int64 }

func (h *hub) token() document.NewToken {
	h.t.Helper()
	t, err := client.Post(h.t.Context(), h.root, route.CreateToken(),
		document.TokenRequest{Uses: 1, Expires: int64(time.Hour)})
	if err != nil {
		h.t.Fatal(err)
	}
	return t
}

// enrol enrols a host with a valid token, and connects it.
func (h *hub) enrol(name string) *agent {
	h.t.Helper()
	token, err := pki.ParseToken(h.token().Secret)
	if err != nil {
		h.t.Fatal(err)
	}
	disk := mem.NewFS(mem.Options{})
	if err := disk.Mkdir("/agent", 0o700); err != nil {
		h.t.Fatal(err)
	}
	c := pki.Client{Directory: pki.Directory{FS: disk, Dir: member.IdentityDir("/agent")}, Now: time.Now}
	began := time.Now()
	h.await("the enrolment of "+name, func() error {
		ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.Enrol(ctx, "https://"+h.api, token, name)
		return err
	})
	h.t.Logf("%s enrolled after %s", name, time.Since(began).Round(time.Millisecond))
	m, err := member.Open(member.Config{Files: disk, Dir: "/agent", Now: time.Now, Warn: func(string) {}})
	if err != nil {
		h.t.Fatal(err)
	}
	link, err := m.Link(context.WithoutCancel(h.t.Context()))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = link.Close() })
	a := &agent{}
	connected := make(chan struct{}, 1)
	link.Changes(func(up bool) {
		if !up {
			a.lost.Add(1)
			return
		}
		a.up.Add(1)
		select {
		case connected <- struct{}{}:
		default:
		}
	})
	select {
	case <-connected:
	case <-time.After(time.Minute):
		h.t.Fatalf("%s is not connected", name)
	}
	h.t.Logf("%s was connected after %s", name, time.Since(began).Round(time.Millisecond))
	return a
}
