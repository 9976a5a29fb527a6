package web

import (
	"testing"

	"github.com/chromedp/chromedp"

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
	b.do(chromedp.Click(".stop summary"), chromedp.SendKeys(".stop [name=reason]", "a <fire>"),
		chromedp.Click(".stop button"))
	b.until("the banner", "document.querySelector('.banner')?.innerText.includes('frozen by jane: a <fire>')")
	b.until("the result", "document.querySelector('.flash') !== null")
	if s, err := client.Get(t.Context(), h.Root, route.Status()); err != nil || s.Freeze == nil || s.Freeze.By != "jane" {
		t.Errorf("%+v %v", s, err)
	}
	eval[int](b, "window.same = 1")
	if _, err := client.Post(t.Context(), h.Root, route.UnfreezeAll(), document.ReasonRequest{}); err != nil {
		t.Fatal(err)
	}
	b.until("the end of the freeze, without a reload", "window.same === 1 && document.querySelector('.banner') === null")
	b.visit("/targets/web1")
	b.do(chromedp.Click("form [name=what][value=verify] + button"))
	b.until("the job", "location.pathname.startsWith('/jobs/') && document.querySelector('.flash') !== null")
	jobs, err := client.GetAt(t.Context(), h.Root, route.Jobs(), route.Page{})
	if err != nil || len(jobs.Jobs) != 1 || jobs.Jobs[0].What != "verify" || jobs.Jobs[0].By != "jane" {
		t.Errorf("%+v %v", jobs, err)
	}
	b.visit("/targets/nothing")
	b.until("the problem", "document.querySelector('.problem') !== null")
}
