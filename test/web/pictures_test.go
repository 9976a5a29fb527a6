package web

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/test/fakehub"
)

var update = flag.Bool("update", false, "write the pictures in testdata/pictures")

// coarse is the size of a pixel of a golden picture in pixels of the browser. Colours that differ less than colour are
// equal, and tolerance is the part of the pixels that may differ.
const (
	coarse    = 8
	colour    = 24
	tolerance = 0.01
)

// TestPictures compares coarse pictures of the pages with golden ones: in light and dark, and as wide as a phone. After
// a change of a page, run the test with -update and look at the new pictures.
func TestPictures(t *testing.T) {
	now := func() time.Time { return time.Unix(0, 7).Add(3 * time.Hour) }
	hub := fakehub.Hostile{Rights: []string{"admin", "approve", "operate", "read"}, Text: "web1"}
	b := open(t, fakehub.Serve(t, hub), now)
	b.pictures(map[string]string{"fleet": "/", "target": "/targets/web1?explain=web1",
		"runs": "/targets/web1/runs", "run": "/targets/web1/runs/7", "drift": "/targets/web1/drift",
		"rollback": "/targets/web1/rollback?to=7", "modules": "/modules", "module": "/modules/web1",
		"commit": "/commits/web1", "differences": "/differences?commit=web1",
		"rollouts": "/rollouts", "rollout": "/rollouts/r1", "inbox": "/inbox", "jobs": "/jobs",
		"job": "/jobs/j1", "events": "/events", "history": "/history", "hubs": "/hubs", "audit": "/audit",
		"search": "/search?q=web1", "locks": "/locks", "release": "/locks/web1/release?target=web1",
		"barriers": "/barriers", "signals": "/signals", "signal": "/signals/web1"})
}

// pictures compares pages with their golden pictures, by the names of the pictures.
func (b *browser) pictures(pages map[string]string) {
	b.t.Helper()
	for name, path := range pages {
		all := []image.Image{b.picture("light", path, 1280), b.picture("dark", path, 1280), b.picture("light", path, 400)}
		compare(b.t, filepath.Join("testdata", "pictures", name+".png"), beside(all))
	}
}

// picture returns a coarse picture of a page. The browser makes it coarse, because this takes long with the race
// detector.
func (b *browser) picture(scheme, path string, width int64) image.Image {
	b.t.Helper()
	b.scheme(scheme)
	b.do(chromedp.EmulateViewport(width, 900))
	b.visit(path)
	beyond := true
	shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond,
		Clip: &page.Viewport{Width: float64(width), Scale: 1.0 / coarse,
			Height: eval[float64](b, "document.documentElement.scrollHeight")}})
	if err != nil {
		b.t.Fatal(err)
	}
	coarsely, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		b.t.Fatal(err)
	}
	return coarsely
}

// beside returns the pictures in one row.
func beside(pictures []image.Image) *image.RGBA {
	var size image.Point
	for _, p := range pictures {
		size = image.Pt(size.X+p.Bounds().Dx(), max(size.Y, p.Bounds().Dy()))
	}
	out := image.NewRGBA(image.Rectangle{Max: size})
	left := 0
	for _, p := range pictures {
		for y := range p.Bounds().Dy() {
			for x := range p.Bounds().Dx() {
				out.Set(left+x, y, p.At(x, y))
			}
		}
		left += p.Bounds().Dx()
	}
	return out
}

// compare compares a picture with a golden file. If they differ, it leaves the new picture beside the golden one.
func compare(t *testing.T, golden string, got *image.RGBA) {
	t.Helper()
	var text bytes.Buffer
	if err := png.Encode(&text, got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want, err := png.Decode(bytes.NewReader(was))
	if err != nil {
		t.Fatal(err)
	}
	if part := differing(got, want); part > tolerance {
		fresh := filepath.Join(t.ArtifactDir(), filepath.Base(golden))
		if err := os.WriteFile(fresh, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%.1f %% of the page %s differ from its picture: compare %s, and run the test with -update",
			100*part, strings.TrimSuffix(filepath.Base(golden), ".png"), fresh)
	}
}

// differing returns the part of the pixels that differ.
func differing(a, b image.Image) float64 {
	all := a.Bounds().Union(b.Bounds())
	n := 0
	for y := range all.Dy() {
		for x := range all.Dx() {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			if differs(r1, r2) || differs(g1, g2) || differs(b1, b2) {
				n++
			}
		}
	}
	return float64(n) / float64(all.Dx()*all.Dy())
}

func differs(a, b uint32) bool { return max(a, b)-min(a, b) > colour<<8 }
