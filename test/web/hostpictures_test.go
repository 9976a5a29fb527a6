package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/web"
	"fettle.dev/fettle/test/fakehub"
)

// TestPicturesOfSignIn compares pictures of the pages for browsers without a session.
func TestPicturesOfSignIn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refuse := fmt.Errorf("the provider does not know the user ann@example.org: %w", fleet.ErrDenied)
	pages := web.ForHub(web.HubConfig{API: fakehub.Hostile{}, Provider: "accounts.example.org",
		SignIn:      func(*http.Request, string) (string, time.Duration, error) { return "", 0, refuse },
		SignOut:     func(*http.Request) error { return nil },
		StartSignIn: func(*http.Request) (string, string, error) { return "", "", errors.New("no provider") },
		FinishSignIn: func(*http.Request, string) (string, time.Duration, error) {
			return "", 0, refuse
		}, Changed: func() <-chan struct{} { return nil }})
	server := &http.Server{Handler: pages}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	b := start(t, "http://"+l.Addr().String())
	b.pictures(map[string]string{"signin": "/", "signinlink": "/sign-in?code=x",
		"signinrefused": "/sign-in/oidc/callback?code=x&state=y"})
}

// TestPicturesOfThisHost compares pictures of the pages of a host without a hub.
func TestPicturesOfThisHost(t *testing.T) {
	a := newAlone(t, "")
	a.list = "LINK one /etc/link\nEXEC wait wait\nLINK two /etc/link phase=2\nCHECK answer file=/etc/answer within=1ms\n"
	a.options.OnCheckFailure = "rollback"
	close(a.gate)
	b := a.open("web1")
	b.pictures(map[string]string{"hostempty": "/"})
	b.visit("/targets/web1/plan")
	b.click("form.orders button")
	b.until("the end", "document.querySelector('h1').innerText.includes('rolled-back')")
	b.pictures(map[string]string{"hostprogress": "/targets/web1/progress"})

	a.list, a.text = "", "file \"/etc/motd\" { content = \"Hello\\n\" }\nfile \"/etc/port\" { content = \"80\\n\" }\n"
	b.visit("/targets/web1/plan")
	b.click("form.orders button")
	b.until("the run", "document.querySelector('h1').innerText.includes('succeeded')")
	a.drift("/etc/motd", "Goodbye\n")
	a.edit = func(r *executor.Request) { r.Revision.Dirty = true }
	b.pictures(map[string]string{"hostplan": "/targets/web1/plan"})
	a.holds = func(c *executor.Condition) {
		c.Unfinished = 4
		c.Frozen = &journal.Frozen{By: "ann", Why: "the disk is replaced"}
	}
	b.pictures(map[string]string{"host": "/", "hostrefused": "/targets/web1/plan", "hostrecover": "/targets/web1/recover"})
	deadline := time.Now().Add(time.Hour)
	a.holds = func(c *executor.Condition) { c.Armed = &journal.Arming{Run: 4, Deadline: deadline.UnixNano()} }
	b.pictures(map[string]string{"hostconfirm": "/targets/web1/confirm"})
}
