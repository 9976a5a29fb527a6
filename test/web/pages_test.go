package web

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/test/fakehub"
	"fettle.dev/fettle/test/hubs"
)

// axe tests the accessibility of a page: https://github.com/dequelabs/axe-core.
//
//go:embed testdata/axe.min.js
var axe string

// accessible checks a page against the rules of WCAG 2.2 A and AA.
func (b *browser) accessible(page string) {
	b.t.Helper()
	eval[int](b, axe+";0")
	const rules = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run(document, {runOnly: `+rules+`}).then(r =>
		JSON.stringify(r.violations.map(v => v.id + ": " + v.help + " " +
			v.nodes.slice(0, 3).map(n => n.html + " " + n.failureSummary).join(" | "))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range all {
		b.t.Errorf("%s: %s", page, v)
	}
}

// TestPages: each page of a real hub is accessible in light and dark, without errors and without foreign requests.
func TestPages(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	b := open(t, h.Root, h.Time)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, path := range []string{"/", "/?by=env", "/targets/web1", "/targets/web2?explain=modules/web", "/modules",
			"/modules/modules/web", "/rollouts", "/inbox", "/jobs", "/events", "/history", "/hubs", "/audit", "/search?q=web",
			"/search?q=srv", "/search?q=4", "/search", "/locks", "/barriers", "/signals", "/scopes", "/scopes/tree",
			"/tasks", "/environments"} {
			b.visit(path)
			b.accessible(scheme + " " + path)
			b.quiet()
		}
	}
	for path, want := range map[string]string{"/": "3 targets", "/targets/web2?explain=modules/web": "Why web is failed",
		"/inbox": "Targets that wait for approval", "/modules": "base", "/search?q=web": "web2",
		"/search?q=%2Fsrv%2Findex": "modules/web/module.hcl:2", "/search?q=4": "web2, run 4", "/hubs": "hub1",
		"/history": "95th percentile of run times"} {
		b.visit(path)
		if text := eval[string](b, "document.getElementById('main').innerText"); !strings.Contains(text, want) {
			t.Errorf("%s does not show %q:\n%s", path, want, text)
		}
	}
}

// TestHostileTextsInABrowser: texts of agents, commits and users run no script and request nothing.
func TestHostileTextsInABrowser(t *testing.T) {
	b := open(t, fakehub.Serve(t, fakehub.Hostile{Rights: []string{"admin", "approve", "operate", "read"}}), time.Now)
	for _, path := range []string{"/", "/targets/x?explain=x", "/modules", "/modules/x", "/rollouts", "/rollouts/r1",
		"/inbox", "/jobs", "/jobs/j1", "/events", "/history", "/hubs", "/audit", "/search?q=" + url.QueryEscape("<img"),
		"/locks", "/barriers", "/signals", "/signals/" + url.PathEscape(fakehub.Attack), "/scopes", "/scopes/tree", "/tasks",
		"/environments", "/scopes/" + url.PathEscape(fakehub.Attack) + "/" + url.PathEscape(fakehub.Attack)} {
		b.visit(path)
		b.until("the page is live", "document.getElementById('live').textContent.includes('updates itself')")
		if n := eval[int](b, "document.querySelectorAll('img, iframe, [onerror]').length"); n > 0 {
			t.Errorf("%s has %d elements of a text", path, n)
		}
		b.quiet()
	}
}

// TestManyTargetsInABrowser: ten thousand tiles are drawn quickly, and a click opens the target of a tile.
func TestManyTargetsInABrowser(t *testing.T) {
	b := open(t, fakehub.Serve(t, fakehub.Large{N: 10_000}), time.Now)
	b.visit("/")
	if n := eval[int](b, "document.querySelectorAll('*').length"); n > 3000 {
		t.Errorf("the page has %d elements", n)
	}
	eval[int](b, `(() => { const box = document.querySelector(".map").getBoundingClientRect();
		document.querySelector(".map").dispatchEvent(new MouseEvent("click", {bubbles: true,
			clientX: box.left + box.width / 110 * 3.5, clientY: box.top + box.width / 110 * 1.5})); return 0 })()`)
	b.until("the page of the target", "location.pathname === '/targets/host00113'")
}

// TestManyItemsInABrowser: no page grows with the fleet, where each list of the hub has ten thousand items. All pages
// remain accessible, and none has errors.
func TestManyItemsInABrowser(t *testing.T) {
	b := open(t, fakehub.Serve(t, fakehub.Crowded{N: 10_000}), time.Now)
	for _, path := range []string{"/", "/?by=label:site", "/targets/item0", "/targets/item0?explain=item1", "/modules",
		"/modules/item0", "/rollouts", "/rollouts/item0", "/inbox", "/jobs", "/jobs/item0", "/events", "/history", "/hubs",
		"/audit", "/search?q=item", "/locks", "/barriers", "/signals", "/scopes", "/scopes/tree", "/scopes/item0/item0",
		"/tasks", "/environments"} {
		b.visit(path)
		if n := eval[int](b, "document.querySelectorAll('*').length"); n > 8000 {
			t.Errorf("%s has %d elements", path, n)
		}
		b.quiet()
	}
}

// TestVeryManyTargetsInABrowser: a fleet of a hundred thousand targets has groups, from which a user comes to a
// selection, and a table with pages.
func TestVeryManyTargetsInABrowser(t *testing.T) {
	b := open(t, fakehub.Serve(t, fakehub.Large{N: 100_000}), time.Now)
	b.visit("/?by=site")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.accessible("the groups in " + scheme)
	}
	if n := eval[int](b, "document.querySelectorAll('*').length"); n > 2000 {
		t.Errorf("the page has %d elements", n)
	}
	b.click("a[rel=next]")
	b.until("the second page", "document.querySelector('tbody tr')?.innerText.includes('host00050')")
	b.until("the page is live", "document.getElementById('live').textContent.includes('updates itself')")
	b.click(".pages a")
	b.until("the first page", "document.querySelector('tbody tr')?.innerText.includes('host00000')")
	b.click(".group h2 a")
	b.until("the selection", "document.querySelector('[name=select]').value === 'label:site=site0'")
	b.quiet()
	b.pictures(map[string]string{"fleetlarge": "/?by=site"})
}

// TestAgeOfAPage: an open page shows when it was last read, also if nothing changed. Other pages show when they were
// loaded.
func TestAgeOfAPage(t *testing.T) {
	b := open(t, fakehub.Serve(t, fakehub.Large{N: 3}), func() time.Time { return time.Unix(1e9, 0) })
	const read = "Date.parse(document.querySelector('#age time').dateTime)"
	b.visit("/")
	b.until("the time of the read", "Math.abs(Date.now() - "+read+") < 60000")
	first := eval[float64](b, read)
	b.until("the next read", fmt.Sprintf("%s > %f", read, first))
	b.accessible("the page with its age")
	b.quiet()
	b.visit("/nothing")
	if text := eval[string](b, "document.getElementById('age').innerText"); text != "As of 01:46:40 UTC" {
		t.Errorf("a page that does not update itself: %q", text)
	}
}
