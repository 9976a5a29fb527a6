package web

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/hubs"
)

// TestSignIn: a browser signs in on the HTTPS port of a hub with a link, follows a page, signs out, and cannot use the
// link again.
func TestSignIn(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	rita, err := h.Client(t.Context(), "rita", "read")
	if err != nil {
		t.Fatal(err)
	}
	link, err := client.Post(t.Context(), rita, route.CreateWebLogin(), document.WebLoginRequest{})
	if err != nil {
		t.Fatal(err)
	}
	path, ours := strings.CutPrefix(link.Link, h.URL)
	if !ours {
		t.Fatalf("the link %s is not of %s", link.Link, h.URL)
	}
	b := start(t, h.URL)
	b.do(chromedp.Navigate(b.base+"/rollouts"), chromedp.WaitVisible("#main"))
	b.until("the page explains the sign-in", "document.body.innerText.includes('fettle login --web')")
	b.mu.Lock()
	b.messages = nil // the status 401 of this page
	b.mu.Unlock()
	b.visit(path)
	b.accessible("the page with the button")
	b.click("main form button")
	b.until("the fleet", "document.querySelector('h1').innerText === '3 targets'")
	b.until("the live page", "document.getElementById('live').textContent.includes('updates itself')")
	if n := eval[int](b, "document.querySelectorAll('main form[method=post]').length"); n > 0 {
		t.Errorf("a reader has %d forms for changes", n)
	}
	if cookie := eval[string](b, "document.cookie"); cookie != "" {
		t.Errorf("scripts can read the cookie %s", cookie)
	}
	eval[int](b, "window.same = 1")
	if _, err := client.Post(t.Context(), h.Root, route.FreezeAll(), document.FreezeRequest{Reason: "fire"}); err != nil {
		t.Fatal(err)
	}
	b.until("the freeze, without a reload", "window.same === 1 && document.querySelector('.banner') !== null")
	b.accessible("the fleet on a hub")
	b.quiet()
	b.click(".user form button")
	b.until("the end", "document.body.innerText.includes('You are signed out')")
	b.visit(path)
	b.click("main form button")
	b.until("the refusal", "document.body.innerText.includes('was used before')")
	b.visit("/")
	b.until("no page without a session", "document.body.innerText.includes('fettle login --web')")
}
