package web

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/hubs"
)

// machine is a host in memory with a real executor, for the agent of a test.
type machine struct {
	t    *testing.T
	host *mem.Host
	x    *local.Executor
	now  func() time.Time
	kept *wire.Kept // nil means that no assignment is known
}

// newMachine connects an agent to a new host.
func newMachine(t *testing.T, a *hubs.Agent, now func() time.Time) *machine {
	t.Helper()
	m := &machine{t: t, now: now, host: mem.New(mem.Options{Run: run})}
	for _, d := range []string{"/etc", "/srv"} {
		if err := m.host.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if m.x, err = local.New(m.host, mem.New(mem.Options{}), local.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	a.Serve = m.serve
	return m
}

// run runs the commands of the configurations: nginx fails.
func run(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
	if c.Argv[0] == "nginx" {
		return host.CommandResult{ExitCode: 1, Stderr: []byte("nginx: [emerg] unknown directive \"lisen\"\n")}, nil
	}
	return host.CommandResult{Stdout: []byte("done\n")}, nil
}

func (m *machine) serve(ctx context.Context, h fleet.ExecutorHeader, stream io.ReadWriteCloser) {
	_ = wire.Serve(ctx, stream, wire.Served{Hello: wire.Hello{Version: "1.0", Kept: m.kept}, ReadOnly: !h.Changes,
		From: "fleet " + h.By, Now: m.now, Open: func(context.Context, bool) (executor.Executor, func() error, error) {
			return m.x, func() error { return nil }, nil
		}}) // the client gets the error
}

// apply applies a configuration. It returns the error of the run.
func (m *machine) apply(subject, text string) error {
	m.t.Helper()
	res, ds := compile.Compile(compile.Input{Tree: repo.MapTree(map[string]string{"fettle.hcl": text})})
	if ds.HasErrors() {
		m.t.Fatal(ds)
	}
	r := executor.Request{List: res.List, Blobs: res.Blobs, Repair: true, Target: "web1",
		Revision: repo.Revision{Digest: res.List.Digest(), Commit: strings.Repeat(fmt.Sprint(len(subject)%10), 40),
			Subject: subject, Author: "Ann Example <ann@example.org>", Branch: "main"}}
	_, err := m.x.Apply(m.t.Context(), r, nil, executor.Options{User: "root", From: "fettle-agent", Command: "agent"}, nil)
	return err
}

// history applies three configurations. The last one fails.
func (m *machine) history() {
	m.t.Helper()
	for _, c := range [][2]string{{"Serve the first page", first}, {"Serve more", second}} {
		if err := m.apply(c[0], c[1]); err != nil {
			m.t.Fatal(err)
		}
	}
	if err := m.apply("Listen on another port", third); err == nil {
		m.t.Fatal("the third run does not fail")
	}
}

const (
	first  = "file \"/srv/index\" { content = \"one\\n\" }\nfile \"/etc/motd\" { content = \"Hello\\n\" }\n"
	second = "file \"/srv/index\" { content = \"one\\ntwo\\n\" }\nfile \"/etc/motd\" { content = \"Hello\\n\" }\n" +
		"exec \"load\" { command = [\"load\", \"it\"] }\n"
	third = "file \"/srv/index\" { content = \"one\\ntwo\\n\" }\nfile \"/etc/motd\" { content = \"Hello\\n\" }\n" +
		"exec \"load\" { command = [\"load\", \"it\"] }\n" +
		"file \"/etc/port\" { content = \"81\\n\" }\n" +
		"exec \"nginx\" { command = [\"nginx\", \"-t\"] }\n" +
		"exec \"after\" { command = [\"after\"] }\n"
)

// TestRuns: the history of a connected target is accessible, and has the newest run first.
func TestRuns(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	newMachine(t, h.Web1, h.Time).history()
	b := open(t, h.Root, h.Time)
	b.visit("/targets/web1")
	b.click(`.tabs a[href="/targets/web1/runs"]`)
	b.until("the runs", "document.querySelector('tbody tr')?.innerText.includes('run 3')")
	text := eval[string](b, "document.getElementById('main').innerText")
	for _, want := range []string{"✖ failed", "● succeeded", "Listen on another port", "by Ann Example", "3 runs"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		for _, path := range []string{"/targets/web1", "/targets/web1/runs", "/targets/web2/runs"} {
			b.visit(path)
			b.accessible(scheme + " " + path)
			b.quiet()
		}
	}
	b.until("the last known state of web2", "document.body.innerText.includes('The last known state: ✖ failed')")
	b.until("the reason", "document.body.innerText.includes('is not connected')")
}

// TestRunsOnHub: the pages on the HTTPS port of a hub ask agents with the session of a reader.
func TestRunsOnHub(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	newMachine(t, h.Web1, h.Time).history()
	rita, err := h.Client(t.Context(), "rita", "read")
	if err != nil {
		t.Fatal(err)
	}
	link, err := client.Post(t.Context(), rita, route.CreateWebLogin(), document.WebLoginRequest{})
	if err != nil {
		t.Fatal(err)
	}
	b := start(t, h.URL)
	b.visit(strings.TrimPrefix(link.Link, h.URL))
	b.click("main form button")
	b.until("the fleet", "document.querySelector('h1').innerText === '3 targets'")
	b.visit("/targets/web1/runs")
	b.until("the runs", "document.querySelector('tbody tr')?.innerText.includes('run 3')")
	b.quiet()
}
