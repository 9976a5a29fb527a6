package web

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/hubs"
)

// TestCommit: the page of a commit shows the worst case of its rollout, and leads to the target that has the commit.
func TestCommit(t *testing.T) {
	f, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); _ = f.Close() })
	if err := f.Web2.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	newMachine(t, f.Web1, f.Time).history()
	admin, err := f.Client(ctx, "ann", "admin")
	if err != nil {
		t.Fatal(err)
	}
	go advance(ctx, f.Hub)
	go follow(ctx, f.Web1, f.Web2)
	b := open(t, admin, f.Time)
	err = f.Commit(ctx, "Serve <b>most</b>", map[string]string{"fettle.hcl": strategy,
		"modules/web/module.hcl": "needs \"base\" {}\nfile \"/srv/index\" { content = \"most\" }\n"})
	if err != nil {
		t.Fatal(err)
	}
	b.visit("/modules/modules/web")
	b.until("the commit", "document.querySelectorAll('a[href^=\"/commits/\"]').length > 1")
	b.visit("/rollouts")
	b.until("the rollout", "document.querySelector('main').innerText.includes('Serve <b>most</b>')")
	commit := eval[string](b, "document.querySelector('main').innerText.match(/[0-9a-f]{12}/)[0]")
	b.visit("/commits/" + commit)
	b.until("the worst case", "document.querySelector('main').innerText.includes('can fail before it stops')")
	b.until("the first target", "document.querySelector('td a[href*=\"/commits/\"]') !== null")
	b.accessible("commit")
	b.do(chromedp.Navigate(b.base+"/targets/web1/list.svg"), chromedp.WaitReady("text"))
	b.quiet()
}

// TestDifferences: a user compares three targets with a branch that the fleet does not follow, before the push.
func TestDifferences(t *testing.T) {
	f, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	terms := document.TokenRequest{Fleet: "acme", Labels: map[string]string{"env": "test", "role": "web"}}
	web3, err := hubs.Enrol(t.Context(), f.Hub, "web3", terms)
	if err == nil {
		err = web3.Connect(t.Context())
	}
	if err == nil {
		_, err = web3.Assigned(t.Context(), 2)
	}
	if err != nil {
		t.Fatal(err)
	}
	commit, err := f.Branch("next/index", "Serve <b>most</b>", map[string]string{"fettle.hcl": strategy,
		"modules/web/module.hcl": "needs \"base\" {}\nfile \"/srv/index\" { content = \"most\" }\n" +
			"directory \"/srv/new\" {}\n"})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := f.Client(t.Context(), "rita", "read")
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, reader, f.Time)
	b.visit("/rollouts")
	b.click("a[href='/differences']")
	b.until("the form", "document.querySelector('input[name=commit]') !== null")
	b.do(chromedp.SendKeys("input[name=commit]", "next/index\r"))
	const main = "document.querySelector('main').innerText"
	b.until("the differences", main+".includes('"+commit+"') && "+main+".includes('3 targets')")
	for _, want := range []string{"Serve <b>most</b>", "+MKDIR /srv/new", "modules/web/module.hcl:3",
		"Worst case: 1 target can fail", "3; 0 without a difference", "The commit has no tests"} {
		if text := eval[string](b, main); !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	b.accessible("differences")
	b.do(chromedp.EmulateViewport(400, 900))
	b.accessible("differences on a phone")
	b.visit("/search?q=next/index")
	b.click("a[href='/differences?commit=next%2Findex']")
	b.until("the differences from the search", main+".includes('"+commit+"')")
	b.quiet()
}
