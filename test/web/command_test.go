package web

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"fettle.dev/fettle/test/gobuild"
)

// command is the real command on a root directory and a repository of its own.
type command struct {
	t        *testing.T
	bin, dir string
	process  *exec.Cmd
	root     string
}

func newCommand(t *testing.T) *command {
	t.Helper()
	dir := t.TempDir()
	c := &command{t: t, bin: filepath.Join(dir, "fettle"), dir: filepath.Join(dir, "repository"),
		root: filepath.Join(dir, "root")}
	if err := gobuild.Program(c.bin, gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{c.dir, filepath.Join(c.root, "etc")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// config writes the repository.
func (c *command) config(text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "fettle.hcl"), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// start starts the command, and signs a browser in with the link that it prints.
func (c *command) start() *browser {
	c.t.Helper()
	base, path := c.serve()
	b := start(c.t, base)
	b.do(chromedp.Navigate(base+path), chromedp.WaitVisible("#main"))
	return b
}

// serve starts the command. It returns the two parts of the link that the command prints.
func (c *command) serve(flags ...string) (base, path string) {
	c.t.Helper()
	c.process = exec.Command(c.bin, append([]string{"ui", "--host", "--root", c.root}, flags...)...)
	c.process.Dir, c.process.Stderr = c.dir, os.Stderr
	out, err := c.process.StdoutPipe()
	if err == nil {
		err = c.process.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(c.kill)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if link := regexp.MustCompile(`(http://\S+)(/sign-in\S+)`).FindStringSubmatch(lines.Text()); link != nil {
			return link[1], link[2]
		}
	}
	c.t.Fatal("the command printed no link")
	return "", ""
}

// kill kills the command, if it runs.
func (c *command) kill() {
	_ = c.process.Process.Kill()
	_ = c.process.Wait()
}

// has checks the content of a file of the host.
func (c *command) has(want string) {
	c.t.Helper()
	got, err := os.ReadFile(filepath.Join(c.root, "etc/motd"))
	if err != nil || string(got) != want {
		c.t.Errorf("/etc/motd has %q, want %q, %v", got, want, err)
	}
}

// TestCommandOnHost: fettle ui --host plans, applies, shows the history and rolls back. If it is killed during a run,
// the next start shows the interrupted run, and recovers the host.
func TestCommandOnHost(t *testing.T) {
	c := newCommand(t)
	c.config("file \"/etc/motd\" { content = \"one\\n\" }\n")
	b := c.start()
	host := eval[string](b, "document.querySelector('h1').innerText")
	b.shows("/", "Nothing was applied on this host yet")
	apply := func(end string) {
		t.Helper()
		b.visit("/targets/" + host + "/plan")
		b.click("form.orders button")
		b.until(end, oneLine+".includes("+strconv.Quote(end)+")")
	}
	apply("See the results of run 1")
	c.has("one\n")
	c.config("file \"/etc/motd\" { content = \"two\\n\" }\n")
	apply("See the results of run 2")
	c.has("two\n")
	b.shows("/targets/"+host+"/runs", "run 1", "run 2", "fettle apply --root "+c.root)
	b.visit("/targets/" + host + "/rollback?to=1")
	b.click("form.orders button")
	b.until("the rollback", "document.body.innerText.includes('See the results of run 3')")
	c.has("one\n")
	b.quiet()

	c.config("file \"/etc/motd\" { content = \"three\\n\" }\n" +
		"wait_for \"gate\" {\n  file = \"/gate\"\n  timeout = \"10m\"\n  after = [file[\"/etc/motd\"]]\n}\n")
	apply("◐ applying wait wait:gate")
	c.has("three\n")
	c.kill()
	b = c.start()
	b.shows("/", "Run 4 has not ended")
	b.click(".hold a")
	b.until("the changes", oneLine+".includes('● done update file:/etc/motd')")
	b.accessible("the recovery")
	b.click("form.orders button[value=undo]")
	b.until("the end", "document.querySelector('h1').innerText.includes('rolled-back')")
	c.has("one\n")
	b.shows("/targets/"+host+"/recover", "There is nothing to recover")
	b.quiet()
}

// TestCommandAtSocket: a browser reaches the pages at a socket through a tunnel, and applies a plan. A new start
// replaces the socket of a command that was killed.
func TestCommandAtSocket(t *testing.T) {
	c := newCommand(t)
	c.config("file \"/etc/motd\" { content = \"one\\n\" }\n")
	dir, err := os.MkdirTemp("", "ui") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	c.serve("--socket", socket)
	c.kill()
	_, path := c.serve("--socket", socket)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go tunnel(l, socket)
	b := start(t, "http://"+l.Addr().String())
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitVisible("#main"))
	b.until("the live page", "document.getElementById('live').textContent.includes('updates itself')")
	b.click(".tabs a:nth-child(4)")
	b.until("the plan", "document.querySelector('form.orders') !== null")
	b.click("form.orders button")
	b.until("the run", "document.body.innerText.includes('See the results of run 1')")
	c.has("one\n")
	b.quiet()
}

// tunnel forwards connections to a socket, as ssh -L does.
func tunnel(l net.Listener, socket string) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("unix", socket)
		if err != nil {
			_ = near.Close()
			continue
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			go func() {
				_, _ = io.Copy(way[0], way[1]) // the end of either side ends both
				_, _ = near.Close(), far.Close()
			}()
		}
	}
}
