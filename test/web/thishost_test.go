package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/ui/web"
)

// oneLine is the text of a page without line breaks.
const oneLine = `document.body.innerText.replace(/\s+/g, " ")`

// alone is a host in memory without a hub, with a repository.
type alone struct {
	*machine
	text    string        // of the repository
	list    string        // if it is set, the steps instead of a repository
	gate    chan struct{} // the command "wait" ends when it is closed
	edit    func(*executor.Request)
	options executor.Options
	holds   func(*executor.Condition) // changes the answer of the host
}

// held is the executor of a host with another condition.
type held struct {
	*local.Executor
	change func(*executor.Condition)
}

func (h held) Condition(ctx context.Context) (executor.Condition, error) {
	c, err := h.Executor.Condition(ctx)
	h.change(&c)
	return c, err
}

func (h held) Status(ctx context.Context) (executor.Status, error) {
	s, err := h.Executor.Status(ctx)
	h.change(&s.Condition)
	return s, err
}

func newAlone(t *testing.T, text string) *alone {
	t.Helper()
	a := &alone{text: text, gate: make(chan struct{})}
	a.machine = &machine{t: t, now: time.Now, host: mem.New(mem.Options{Run: a.run})}
	for _, d := range []string{"/etc", "/srv"} {
		if err := a.host.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if a.x, err = local.New(a.host, mem.New(mem.Options{}), local.Options{Now: time.Now,
		Guard: func(context.Context, time.Time) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *alone) run(ctx context.Context, m *mem.Host, c host.Command) (host.CommandResult, error) {
	if c.Argv[0] == "wait" {
		select {
		case <-a.gate:
		case <-ctx.Done():
		}
	}
	return run(ctx, m, c)
}

func (a *alone) request(context.Context) (executor.Request, executor.Options, func(), error) {
	res, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": a.text})})
	if ds.HasErrors() {
		return executor.Request{}, executor.Options{}, nil, errors.New(ds[0].Summary)
	}
	r := executor.Request{List: res.List, Blobs: res.Blobs, Repair: true, Target: "web1",
		Revision: repo.Revision{Digest: res.List.Digest(), Commit: strings.Repeat("ab", 20), Subject: "Serve more"}}
	if a.list != "" {
		var ds diag.List
		if r.List, ds = step.Parse("list", []byte(a.list)); ds.HasErrors() {
			return executor.Request{}, executor.Options{}, nil, ds.Err()
		}
	}
	if a.edit != nil {
		a.edit(&r)
	}
	return r, a.options, func() {}, nil
}

// open opens a browser on the pages of the host.
func (a *alone) open(name string) *browser {
	a.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	api := web.HostAPI{Name: name, User: "kim as root", Serve: func(context.Context) wire.Served {
		return wire.Served{Now: time.Now, From: "fettle ui",
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				if a.holds == nil {
					return a.x, func() error { return nil }, nil
				}
				return held{a.x, a.holds}, func() error { return nil }, nil
			}}
	}}
	site := web.New(web.Config{Host: &web.Host{Name: name, Request: a.request}, Refresh: 100 * time.Millisecond,
		Client: api.Client()})
	pages := web.NewLocal(site, l.Addr().String())
	server := &http.Server{Handler: pages}
	go func() { _ = server.Serve(l) }()
	a.t.Cleanup(func() { _ = server.Close() })
	b := start(a.t, "http://"+l.Addr().String())
	b.do(chromedp.Navigate(pages.Address()), chromedp.WaitVisible("#main"))
	return b
}

// TestThisHost: a host without a hub shows its plan before the button, the progress of the run while it goes on, the
// run, the drift, and the way back.
func TestThisHost(t *testing.T) {
	a := newAlone(t, "file \"/etc/motd\" { content = \"Hello\\n\" }\nexec \"wait\" { command = [\"wait\"] }\n")
	b := a.open("web1")
	b.shows("/", "Nothing was applied on this host yet")
	b.shows("/targets/web1/plan", "nothing has changed yet", "file:/etc/motd", "+Hello", "Serve more")
	b.visit("/targets/web1/plan")
	b.click("form.orders button")
	b.until("the finished step", oneLine+".includes('● done create file:/etc/motd')")
	b.until("the present step", oneLine+".includes('◐ applying run exec:wait')")
	b.accessible("the progress")
	close(a.gate)
	b.until("the end", "document.querySelector('h1').innerText.includes('succeeded')")
	b.click(`main a[href="/targets/web1/runs/1"]`)
	b.until("the run", "document.querySelector('h1').innerText.startsWith('Run 1 of web1')")
	a.drift("/etc/motd", "Goodbye\n")
	b.shows("/targets/web1/drift?compare=1", "-Goodbye", "fettle apply")
	b.shows("/targets/web1/runs", "kim as root, from fettle ui", "fettle apply")
	b.shows("/", "run 1")
	b.shows("/targets/web1/progress", "2 of 2 changes done")
	a.drift("/etc/motd", "Hello\n")
	a.text = strings.Replace(a.text, "Hello", "Welcome", 1)
	b.visit("/targets/web1/plan")
	b.click("form.orders button")
	b.until("the second run", "document.body.innerText.includes('See the results of run 2')")
	b.shows("/targets/web1/rollback?to=1", "-Welcome", "+Hello")
	b.visit("/targets/web1/rollback?to=1")
	b.click("form.orders button")
	b.until("the rollback", "document.body.innerText.includes('See the results of run 3')")
	b.quiet()
}

// TestHostileThisHost: texts of a repository and a host run no script and request nothing.
func TestHostileThisHost(t *testing.T) {
	const hostile = "<img src=x onerror=alert(1)>"
	a := newAlone(t, "file \"/etc/"+strings.ReplaceAll(hostile, "/", "")+"\" { content = \""+hostile+"\\n\" }\n")
	b := a.open(hostile)
	b.visit("/")
	b.click(".tabs a:nth-child(4)")
	b.until("the plan", "document.querySelector('.diff')?.innerText.includes('<img src=x')")
	b.click("form.orders button")
	b.until("the end", "document.body.innerText.includes('See the results of run 1')")
	b.accessible("the progress")
	if n := eval[int](b, "document.querySelectorAll('img, [onerror]').length"); n > 0 {
		t.Errorf("the page has %d elements of a text", n)
	}
	b.quiet()
}
