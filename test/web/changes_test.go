package web

import (
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/hubs"
)

// TestChanges: an operator freezes the fleet and a target, and orders a job. An open page shows changes of others
// without a reload.
func TestChanges(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	jane, err := h.Client(t.Context(), "jane", "operate")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, jane, h.Time)
	b.visit("/")
	b.click(".stop summary")
	b.do(chromedp.SendKeys(".stop [name=reason]", "a <fire>"))
	b.click(".stop button")
	b.until("the banner", "document.querySelector('.banner')?.innerText.includes('frozen by jane: a <fire>')")
	b.until("the result", "document.querySelector('.flash') !== null")
	if s, err := client.Get(t.Context(), h.Root, route.Status()); err != nil || s.Freeze == nil || s.Freeze.By != "jane" {
		t.Errorf("%+v %v", s, err)
	}
	eval[int](b, "window.same = 1")
	on := b.pointTo("main a[href^='/targets/']")
	if _, err := client.Post(t.Context(), h.Root, route.UnfreezeAll(), document.ReasonRequest{}); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		b.do(chromedp.MouseEvent(chromedp.MouseMoved, on[0], on[1]))
		if eval[bool](b, "document.querySelector('.banner') === null") {
			t.Fatal("the page changed under the pointer")
		}
	}
	b.until("the end of the freeze, without a reload", "window.same === 1 && document.querySelector('.banner') === null")
	b.visit("/targets/web1")
	b.click("form [name=what][value=verify] + button")
	b.until("the job", "location.pathname.startsWith('/jobs/') && document.querySelector('.flash') !== null")
	jobs, err := client.GetAt(t.Context(), h.Root, route.Jobs(), route.Page{})
	if err != nil || len(jobs.Jobs) != 1 || jobs.Jobs[0].What != "verify" || jobs.Jobs[0].By != "jane" {
		t.Errorf("%+v %v", jobs, err)
	}
	b.visit("/targets/nothing")
	b.until("the problem", "document.querySelector('.problem') !== null")
}

// TestInbox: an approver decides the requests of an agent and of a user. The page then has nothing that waits.
func TestInbox(t *testing.T) {
	f, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	ann, err := f.Client(t.Context(), "ann", "admin")
	if err != nil {
		t.Fatal(err)
	}
	joe, err := f.Client(t.Context(), "joe", "operate")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Web1.Request(t.Context(), fleet.Request{What: fleet.RequestFreeze, Reason: "a backup"}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Post(t.Context(), joe, route.RequestExemption(),
		document.ExemptionRequest{Select: []string{"web1"}, Reason: "a leak", Seconds: 3600}); err != nil {
		t.Fatal(err)
	}
	b := open(t, ann, f.Time)
	b.visit("/inbox")
	b.accessible("inbox")
	b.do(chromedp.SendKeys("form[action='/requests/web1/freeze'] [name=reason]", "done"))
	b.click("form[action='/requests/web1/freeze'] [value=approve]")
	b.until("the result", "document.querySelector('.flash')?.innerText.includes('web1')")
	b.click("form[action^='/exemptions/'] [value=approve]")
	b.until("the first approval", "document.querySelector('main').innerText.includes('1 of 2 approvals')")
	b.click("form[action^='/exemptions/'] [value=reject]")
	b.until("the end of the exemption", "document.querySelector('form[action^=\"/exemptions/\"]') === null")
	b.click("form[action='/targets/db1/approve'] button")
	b.until("the new target", "location.pathname === '/targets/db1' && document.querySelector('.flash') !== null")
	b.visit("/inbox")
	b.until("the end of all requests", "document.querySelector('main').innerText.includes('Nothing waits')")
	b.visit("/targets/web1")
	b.until("the freeze", "document.querySelector('main').innerText.includes('a backup')")
	b.click("dd a[href^='/commits/']")
	b.until("the commit", "location.pathname.startsWith('/commits/') && document.querySelector('meter') !== null")
	b.accessible("commit")
	b.quiet()
}
