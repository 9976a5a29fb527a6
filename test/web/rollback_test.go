package web

import (
	"io"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/fakehub"
	"fettle.dev/fettle/test/hubs"
)

// drift changes a file of the host without fettle.
func (m *machine) drift(path, text string) {
	m.t.Helper()
	f, err := m.host.Create(path + ".new")
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		m.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		m.t.Fatal(err)
	}
	if err := m.host.Rename(path+".new", path); err != nil {
		m.t.Fatal(err)
	}
}

// shows checks that a page is accessible in light and dark, and has some texts.
func (b *browser) shows(path string, wants ...string) {
	b.t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.visit(path)
		b.accessible(scheme + " " + path)
		b.quiet()
	}
	text := eval[string](b, "document.getElementById('main').innerText")
	for _, want := range wants {
		if !strings.Contains(text, want) {
			b.t.Errorf("%s lacks %q:\n%s", path, want, text)
		}
	}
}

// TestRollback: a failed run shows its error first. The plan of a rollback is shown before its button, and the button
// rolls back. A second click on the same plan is refused.
func TestRollback(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	m := newMachine(t, h.Web1, h.Time)
	m.history()
	b := open(t, h.Root, h.Time)
	b.shows("/targets/web1/runs/3", "unknown directive", "exec:nginx", "○ skipped", "fettle.hcl:4", "+81")
	if text := eval[string](b, "document.querySelector('main pre').innerText"); !strings.Contains(text, "exit code 1") {
		t.Errorf("the page of the failed run begins with %q", text)
	}
	b.shows("/targets/web1/rollback?to=2", "nothing has changed yet", "file:/etc/port", "-81")
	b.visit("/targets/web1/rollback?to=2")
	b.click("form.orders button")
	b.until("the result", "document.querySelector('.flash')?.innerText.includes('Rolled back to run 2')")
	b.until("the run", "document.querySelector('h1').innerText.startsWith('Run 4 of web1')")
	if _, err := m.host.Lstat("/etc/port"); err == nil {
		t.Error("the rollback did not remove the file")
	}
	b.shows("/targets/web1/runs", "rollback to run 2", "4 runs")
}

// TestDrift: the page of the drift compares the host at a click, and shows each difference and its repair.
func TestDrift(t *testing.T) {
	h, err := hubs.StartFleet(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	m := newMachine(t, h.Web1, h.Time)
	m.history()
	m.drift("/etc/motd", "Goodbye\n")
	b := open(t, h.Root, h.Time)
	b.visit("/targets/web1/drift")
	b.click("main form button")
	b.until("the difference", "document.querySelector('.diff')?.innerText.includes('-Goodbye')")
	b.shows("/targets/web1/drift?compare=1", "file:/etc/motd", "+Hello", "fettle job apply -t web1", "Apply now")
	rita, err := h.Client(t.Context(), "rita", "read")
	if err != nil {
		t.Fatal(err)
	}
	b = open(t, rita, h.Time)
	b.shows("/targets/web1/drift?compare=1", "file:/etc/motd", "content need the right operate")
	if n := eval[int](b, "document.querySelectorAll('form[method=post], .diff').length"); n > 0 {
		t.Errorf("a reader has %d forms and differences of content", n)
	}
	b.visit("/targets/web1/runs/3")
	if eval[bool](b, "document.body.innerText.includes('Roll back')") {
		t.Error("a reader sees how to roll back")
	}
}

// TestHostileHost: texts of an agent run no script and request nothing.
func TestHostileHost(t *testing.T) {
	b := open(t, fakehub.Serve(t, fakehub.Hostile{Rights: []string{"operate", "read"}}), time.Now)
	for _, path := range []string{"/targets/x/runs", "/targets/x/runs/7", "/targets/x/drift?compare=1",
		"/targets/x/rollback?to=3"} {
		b.visit(path)
		b.accessible(path)
		if n := eval[int](b, "document.querySelectorAll('img, iframe, [onerror]').length"); n > 0 {
			t.Errorf("%s has %d elements of a text", path, n)
		}
		if !eval[bool](b, "document.getElementById('main').innerText.includes('<img src=x')") {
			t.Errorf("%s does not show the text", path)
		}
		b.quiet()
	}
}
