package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/hubs"
)

// coordination declares a lock, a barrier and a signal.
const coordination = `target_group "web" {
  labels  = { role = "web" }
  modules = ["base", "web"]
}
lock "migrations" { slots = 1 }
barrier "schema-2" { labels = { role = "web" } }
signal "schema" {}
policy { rollout = "at-once" }
`

// TestCoordination: an operator watches a lock of a real hub, and releases the slot of a target, so that another one
// gets it. The operator sends and clears a signal.
func TestCoordination(t *testing.T) {
	f, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Commit(t.Context(), "Declare a lock", map[string]string{"fettle.hcl": coordination}); err != nil {
		t.Fatal(err)
	}
	operator, err := f.Client(t.Context(), "ann", "operate")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Web2.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := open(t, operator, f.Time)
	b.visit("/locks")
	b.until("the lock", "document.querySelector('h2')?.innerText.includes('0 of 1 slots')")
	acquire := func(a *hubs.Agent, want bool) {
		t.Helper()
		_, err := hubs.Await(t.Context(), "the answer about a slot", func() (fleet.SlotAnswer, error) {
			return a.Acquire(t.Context(), "migrations")
		}, func(s fleet.SlotAnswer) bool { return !s.Unknown && s.Granted == want })
		if err != nil {
			t.Fatal(err)
		}
	}
	acquire(f.Web1, true)
	acquire(f.Web2, false)
	b.until("the holder", oneLine+".includes('web1 ◐ has a slot')")
	b.until("the waiting target", oneLine+".includes('web2 ○ waits')")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.accessible("a lock in " + scheme)
	}

	b.click("td a[href*=release]")
	b.until("the form", "document.querySelector('form.orders') !== null")
	b.accessible("the release")
	b.do(chromedp.SendKeys("form.orders [name=reason]", "it is off"))
	b.click("form.orders button")
	b.until("the confirmation is required", "document.querySelector('form.orders input:invalid') !== null")
	b.click("form.orders input[type=checkbox]")
	b.click("form.orders button")
	b.until("the result", "document.querySelector('.flash')?.innerText.includes('The slot of web1 is released')")
	acquire(f.Web2, true)
	b.until("the next holder", oneLine+".includes('web2 ◐ has a slot')")

	b.shows("/barriers", "schema-2", "0 of 2 required members have arrived", "expected")
	b.visit("/signals")
	b.click("h2 a")
	b.until("the forms", "document.querySelector('form.orders [name=payload]') !== null")
	b.accessible("the signal")
	b.do(chromedp.SendKeys("form.orders [name=payload]", "<b>v2</b>"))
	b.click("form.orders button")
	b.until("the payload", "document.querySelector('td code')?.innerText === '<b>v2</b>'")
	all, err := client.Get(t.Context(), operator, route.Signals())
	if err != nil || len(all.Signals) != 1 || all.Signals[0].Sent[0].Payload != "<b>v2</b>" ||
		!strings.Contains(all.Signals[0].Sent[0].Sender, "ann") {
		t.Errorf("the hub has %+v %v", all, err)
	}
	b.click("h2 a")
	b.until("the form", "document.querySelector('form.orders [name=reason]') !== null")
	b.do(chromedp.SendKeys("form.orders [name=reason]", "it was wrong"))
	b.click("form.orders button.danger")
	b.until("the end of the signal", "document.querySelector('h2')?.innerText.includes('not sent')")
	b.quiet()
}
