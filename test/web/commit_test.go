package web

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

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
