package web

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/test/hubs"
)

// strategy lets a commit wait for the approval of a user after its first target.
const strategy = `target_group "web" {
  labels  = { role = "web" }
  modules = ["base", "web"]
}
rollout "board" {
  min_ready_time = "1s"
  wave "first" {
    size = "1"
    approval "board" {}
  }
  wave "rest" {}
}
policy { rollout = "board" }
`

// advance lets the time of a hub pass.
func advance(ctx context.Context, h *hubs.Hub) {
	for ctx.Err() == nil {
		h.SetTime(h.Time().Add(time.Second))
		time.Sleep(200 * time.Millisecond)
	}
}

// follow lets agents apply each assignment.
func follow(ctx context.Context, agents ...*hubs.Agent) {
	for ctx.Err() == nil {
		for _, a := range agents {
			_ = a.Ready(ctx) // without a new assignment, the report repeats the state
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// TestRollout: an approver watches a rollout on an open page, approves it at its gate, and sees its end. The next
// rollout is rolled back on the page.
func TestRollout(t *testing.T) {
	f, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); _ = f.Close() })
	if err := f.Web2.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	commit := func(subject, content string) {
		t.Helper()
		err := f.Commit(ctx, subject, map[string]string{"fettle.hcl": strategy,
			"modules/web/module.hcl": "needs \"base\" {}\nfile \"/srv/index\" { content = \"" + content + "\" }\n"})
		if err != nil {
			t.Fatal(err)
		}
	}
	admin, err := f.Client(ctx, "ann", "admin")
	if err != nil {
		t.Fatal(err)
	}
	go advance(ctx, f.Hub)
	go follow(ctx, f.Web1, f.Web2)
	b := open(t, admin, f.Time)
	b.visit("/rollouts")
	commit("Serve <b>most</b>", "most")
	b.until("the rollout", "document.querySelector('main').innerText.includes('Serve <b>most</b>')")
	b.click("tbody tr:first-child a")
	b.until("the gate", "document.querySelector('main button[value=approve]') !== null")
	eval[int](b, "window.same = 1")
	b.until("the wave waits", "document.querySelector('main').innerText.includes('waits for the approval of')")
	b.accessible("rollout")
	b.click("main button[value=approve]")
	b.until("the end", "document.querySelector('h1').innerText.includes('completed')")
	b.visit("/rollouts")
	commit("Serve least", "least")
	b.until("the next rollout", "document.querySelector('main').innerText.includes('Serve least')")
	b.click("tbody tr:first-child a")
	b.until("it can be rolled back", "document.querySelector('main button[value=rollback]') !== null")
	b.do(chromedp.SendKeys("main [name=reason]", "too little"))
	b.click("main button[value=rollback]")
	b.until("the rollback", "document.querySelector('h1').innerText.includes('rolled-back')")
	b.until("the release", "document.querySelector('main button[value=release]') !== null")
	b.quiet()
}
