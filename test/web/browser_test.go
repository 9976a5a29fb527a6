package web

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/ui/web"
	"fettle.dev/fettle/test/hubs"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

func TestMain(m *testing.M) {
	code := hubs.Run(m)
	if chromium.stop != nil {
		chromium.stop()
	}
	os.Exit(code)
}

// patience is the limit of a test.
const patience = 3 * time.Minute

// browser is a tab of Chromium on a site.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	messages []string // of the console: errors, and violations of the Content-Security-Policy
}

// open serves the pages for a user, and opens the first one.
func open(t *testing.T, c *client.Client, now func() time.Time) *browser {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := web.New(web.Config{Client: func(*http.Request) (*client.Client, error) { return c, nil }, Now: now,
		Refresh: 100 * time.Millisecond})
	local := web.NewLocal(site, l.Addr().String())
	server := &http.Server{Handler: local}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	b := start(t, "http://"+l.Addr().String())
	b.do(chromedp.Navigate(local.Address()), chromedp.WaitVisible("#main"))
	return b
}

// chromium is the browser whose tabs the tests use. Its start takes longer than most tests.
var chromium program

// program is a browser that the first test starts.
type program struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop func()
}

// start starts the browser at a path, unless it runs.
func (p *program) start(path string) (context.Context, error) {
	p.once.Do(func() {
		options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.NoSandbox,
			chromedp.ExecPath(path), chromedp.IgnoreCertErrors) // browsers do not know the fleet CA
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		p.ctx, _ = chromedp.NewContext(ctx)
		p.stop = stop
		_, p.err = chromedp.Run(p.ctx, chromedp.Navigate("about:blank"))
	})
	return p.ctx, p.err
}

// start opens a tab for the site at an address. It shares no cookies with other tabs. Tests with a browser take long:
// one half of them runs for each commit.
func start(t *testing.T, base string) *browser {
	t.Helper()
	sample.Half(t)
	ctx, err := chromium.start(needs.Program(t, "chromium"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, patience)
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx, base: base}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.listen()
	return b
}

// listen collects the messages of the console.
func (b *browser) listen() {
	all := chromedp.Console(b.ctx)
	go func() {
		for m, err := range all {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.messages = append(b.messages, m.String())
			b.mu.Unlock()
		}
	}()
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// visit opens a page.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitVisible("#main"))
}

// click moves the pointer to an element and clicks it, as a user does.
func (b *browser) click(selector string) {
	b.t.Helper()
	at := b.pointTo(selector)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

// pointTo moves the pointer to an element and returns its place. The page can change until the pointer arrives.
func (b *browser) pointTo(selector string) (at []float64) {
	b.t.Helper()
	query := "document.querySelector(" + strconv.Quote(selector) + ")"
	b.do(chromedp.WaitVisible(selector), chromedp.ScrollIntoView(selector))
	for range 100 {
		at = eval[[]float64](b, "(r => [r.x + r.width/2, r.y + r.height/2])("+query+".getBoundingClientRect())")
		b.do(chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1]))
		if eval[bool](b, query+".matches(':hover')") {
			return at
		}
	}
	b.t.Fatalf("the pointer never reached %s", selector)
	return nil
}

// eval returns the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true, also if the browser opens another page meanwhile.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	var last error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if is {
			return
		}
		last = err
	}
	b.t.Fatalf("%s: %v\n%s", what, last, eval[string](b, "document.body.innerText"))
}

// scheme selects the colours: light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// quiet checks that the browser had no error, and requested nothing from elsewhere.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		b.t.Errorf("the console has: %s", m)
	}
	b.messages = nil
	for _, address := range eval[[]string](b, "performance.getEntriesByType('resource').map(e => e.name)") {
		if !strings.HasPrefix(address, b.base+"/") {
			b.t.Errorf("the page requested %s", address)
		}
	}
}
