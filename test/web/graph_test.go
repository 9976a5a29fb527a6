package web

import (
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/test/hubs"
)

// TestPictureOfRun: the policy of a picture permits its own styles, in light and dark.
func TestPictureOfRun(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	newMachine(t, h.Web1, h.Time).history()
	b := open(t, h.Root, h.Time)
	for scheme, want := range map[string]string{"light": "rgb(251, 251, 250)", "dark": "rgb(22, 25, 27)"} {
		b.scheme(scheme)
		b.do(chromedp.Navigate(b.base+"/targets/web1/runs/3/graph.svg"), chromedp.WaitReady("g.bad"))
		if got := eval[string](b, "getComputedStyle(document.querySelector('.back')).fill"); got != want {
			t.Errorf("the background is %s in %s mode, not %s", got, scheme, want)
		}
		b.quiet()
	}
}
