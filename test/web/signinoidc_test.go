package web

import (
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/fakeoidc"
	"fettle.dev/fettle/test/hubs"
)

// TestSignInAtProvider: a browser without a session opens a page, signs in at the OIDC provider, which is another site,
// and sees this page. The user operates the fleet with the role of a rule, and the audit log has the name. After the
// user is locked out, and when the provider refuses, there is no page.
func TestSignInAtProvider(t *testing.T) {
	p, err := fakeoidc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Claims = map[string]any{"email": "ann@example.org", "email_verified": true, "groups": []string{"dev", "sre"}}
	h, err := hubs.StartWith(t.TempDir(), &hubs.Provider{Issuer: p.Issuer, Client: fakeoidc.Client,
		Secret: fakeoidc.Secret, CA: p.CA})
	if err != nil {
		t.Fatal(err)
	}
	p.Now = h.Time
	t.Cleanup(func() { _ = h.Close() })
	b := start(t, h.URL)
	p.Ask = true // then the way back begins at the provider
	open := func(path string) {
		b.do(chromedp.Navigate(b.base+path), chromedp.WaitVisible("#main"))
		b.mu.Lock()
		b.messages = nil // the status 401 of this page
		b.mu.Unlock()
	}
	open("/events")
	b.accessible("the page with the provider")
	b.click("main a.button")
	b.until("the provider", "document.title === 'Provider'")
	b.click("#main a")
	b.until("the page that the user wanted", "location.pathname === '/events' && document.querySelector('.user') !== null")
	b.quiet()
	b.visit("/")
	b.click(".stop summary")
	b.do(chromedp.SendKeys(".stop [name=reason]", "fire"))
	b.click(".stop button")
	b.until("the banner", "document.querySelector('.banner')?.innerText.includes('frozen by ann@example.org: fire')")

	p.Ask = false
	lock := document.UserRequest{Name: "ann@example.org", Roles: []string{"read"}, Locked: true}
	if _, err := client.Post(t.Context(), h.Root, route.SetUser(), lock); err != nil {
		t.Fatal(err)
	}
	open("/events")
	b.until("no page for a locked user", "document.querySelector('main a.button') !== null")
	b.click("main a.button")
	b.until("no session either", "document.querySelector('.problem')?.innerText.includes('ann@example.org is locked out')")
	p.Refuse = "access_denied"
	b.click("main a.button")
	b.until("the refusal", "document.querySelector('.problem')?.innerText.includes('access_denied')")
}
