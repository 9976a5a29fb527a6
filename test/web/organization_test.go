package web

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/hubs"
)

// TestPagesOfAnOrganization: a user of an organization signs in at a real hub. The pages, their links and the search
// show only its target, open pages follow when targets are moved, and the user freezes the own target.
func TestPagesOfAnOrganization(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	move := func(target, organization string) {
		t.Helper()
		_, err := client.Call(t.Context(), h.Root, route.MoveTarget(), route.TargetName{Target: target},
			document.MoveRequest{Organization: organization, Reason: "sold"})
		if err != nil {
			t.Fatal(err)
		}
	}
	move("web1", "acme/shop")
	ann, err := h.Member(t.Context(), "ann", "operate", "acme")
	if err != nil {
		t.Fatal(err)
	}
	link, err := client.Post(t.Context(), ann, route.CreateWebLogin(), document.WebLoginRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, h.URL)
	b.visit(strings.TrimPrefix(link.Link, h.URL))
	b.click("main form button")
	b.until("the own target", "document.querySelector('h1').innerText === '1 target'")
	b.until("the live page", "document.getElementById('live').textContent.includes('updates itself')")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.accessible("the fleet of an organization in " + scheme)
	}
	b.quiet()
	b.follow("web2", "db1")

	b.visit("/")
	eval[int](b, "window.same = 1")
	move("web2", "acme")
	b.until("the second target, without a reload", "window.same === 1 && "+oneLine+".includes('2 targets')")
	b.visit("/targets/web1")
	b.click("form[action$=freeze] [name=reason]")
	b.do(chromedp.SendKeys("form[action$=freeze] [name=reason]", "the shop is open"))
	b.click("form[action$=freeze] button")
	b.until("the freeze", oneLine+".includes('the shop is open')")
	d, err := client.GetAt(t.Context(), h.Root, route.Target(), route.TargetName{Target: "web1"})
	if err != nil || !strings.Contains(d.Target.Frozen, "the shop is open") {
		t.Errorf("the hub has the target %+v %v", d.Target, err)
	}

	b.visit("/targets/web2")
	eval[int](b, "window.same = 1")
	move("web2", "")
	b.until("the page of the target ends", oneLine+".includes('cannot find the target')")
	b.follow("web2", "db1")
}

// follow opens all pages that the user can reach by links, and the search. No page contains one of the names, except
// that of the search itself.
func (b *browser) follow(never ...string) {
	b.t.Helper()
	const links = "[...document.querySelectorAll('a[href]')].map(a => new URL(a.href)).filter(u => u.origin === " +
		"location.origin).map(u => u.pathname + u.search)"
	b.visit("/")
	seen := []string{}
	for next := []string{"/"}; len(next) > 0; {
		path := next[0]
		next = next[1:]
		if slices.Contains(seen, path) || strings.HasPrefix(path, "/download") {
			continue
		}
		seen = append(seen, path)
		b.visit(path)
		text := eval[string](b, "document.documentElement.outerHTML")
		for _, name := range never {
			if strings.Contains(text, name) {
				b.t.Errorf("%s contains %s:\n%s", path, name, eval[string](b, "document.body.innerText"))
			}
		}
		if len(seen) < 60 {
			next = append(next, eval[[]string](b, links)...)
		}
	}
	if len(seen) < 10 {
		b.t.Errorf("the walk saw only %q", seen)
	}
	b.messages = nil
}
