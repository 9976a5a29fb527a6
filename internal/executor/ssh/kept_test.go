package ssh

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor/ssh/mux"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sshd"
)

// desk is where connections to a server are kept.
type desk struct {
	*testing.T
	a Address
	o Options
}

func newDesk(t *testing.T, more ...string) *desk {
	t.Helper()
	needs.Program(t, "sshd")
	needs.Program(t, "ssh")
	server := sshd.Start(t, more...)
	d := &desk{t, Address{Host: "127.0.0.1", Port: server.Port, Options: server.Options()},
		Options{Control: filepath.Join(server.Dir, "c"), Env: os.Environ(), Keep: 2 * time.Second,
			Connect: 5 * time.Second}.defaults()}
	mustDo(t, os.Mkdir(d.o.Control, 0o700))
	if k := d.o.keep(d.a); !k.ours {
		_, err := d.o.nameOf(d.a)
		t.Skipf("this machine's ssh is not to be read: %v", err)
	}
	t.Cleanup(d.hangUp)
	return d
}

// sockets are those of connections that are kept.
func (d *desk) sockets() []string {
	all, _ := filepath.Glob(filepath.Join(d.o.Control, "*"))
	return all
}

// ask ends or examines what keeps the connections, as ssh -O does.
func (d *desk) ask(what string) string {
	var said []byte
	for _, s := range d.sockets() {
		out, _ := exec.Command("/usr/bin/ssh", "-F", "/dev/null", "-S", s, "-O", what, "any").CombinedOutput()
		said = append(said, out...)
	}
	return string(said)
}

func (d *desk) hangUp() {
	for _, m := range d.masters() {
		_ = syscall.Kill(m, syscall.SIGCONT)
	}
	d.ask("exit")
}

// masters are the processes that keep connections.
func (d *desk) masters() (pids []int) {
	out, _ := exec.Command("pgrep", "-f", "^ssh: "+d.o.Control).Output()
	for _, f := range strings.Fields(string(out)) {
		n, _ := strconv.Atoi(f)
		pids = append(pids, n)
	}
	return pids
}

// begin starts the script there, which says that it has no program.
func (d *desk) begin(a Address, o Options) *process {
	d.Helper()
	p, err := o.start(d.Context(), a, whole, func() ([]string, error) { return []string{"-", "-", "plain"}, nil })
	if err != nil {
		d.Fatal(err)
	}
	return p
}

// contact has the script run, and tells whether that took a process of ssh.
func (d *desk) contact(a Address, o Options) (started bool) {
	d.Helper()
	p := d.begin(a, o)
	defer p.Kill()
	said, err := p.bootLine()
	if err != nil || !strings.HasPrefix(said, "unfit Linux") {
		p.lastWords()
		text, _ := p.errs.all()
		d.Fatalf("the script says %q, %v; ssh says %q", said, err, text)
	}
	_, rest := io.ReadAll(p)
	<-p.Ended
	if p.Code() != 3 || rest != nil {
		d.Errorf("it ends with %d, %v", p.Code(), rest)
	}
	_, session := p.carrier.(*mux.Session)
	return !session
}

func (d *desk) want(started bool, when string) {
	d.Helper()
	if got := d.contact(d.a, d.o); got != started {
		d.Errorf("%s: ssh is started: %v, want %v", when, got, started)
	}
}

// TestKept: the second contact needs no ssh, and whatever is told otherwise is another
// connection.
func TestKept(t *testing.T) {
	d := newDesk(t)
	d.want(true, "at first")
	d.want(false, "then")
	for name, change := range map[string]func(*Address, *Options){
		"a user":            func(a *Address, _ *Options) { a.User = "somebody" },
		"a name":            func(a *Address, _ *Options) { a.Host = "127.0.0.01" },
		"a key":             func(a *Address, _ *Options) { a.Options["IdentityFile"] += ".pub" },
		"trust":             func(_ *Address, o *Options) { o.AcceptNew = true },
		"an option":         func(a *Address, _ *Options) { a.Options["TCPKeepAlive"] = "no" },
		"known hosts":       func(a *Address, _ *Options) { a.Options["UserKnownHostsFile"] += " /dev/null" },
		"how long it stays": func(_ *Address, o *Options) { o.Keep = 3 * time.Second },
	} {
		a, o := d.a, d.o
		a.Options = map[string]string{}
		for k, v := range d.a.Options {
			a.Options[k] = v
		}
		change(&a, &o)
		if is, was := o.keep(a), d.o.keep(d.a); is == was || !is.ours || len(is.path) != len(was.path) {
			t.Errorf("%s: %v and %v", name, is, was)
		}
	}
	a := d.a
	a.Sudo = true
	if d.o.keep(a) != d.o.keep(d.a) {
		t.Error("another account there needs another connection")
	}
	// A session that goes on is no reason for the next one to wait.
	p := d.begin(d.a, d.o)
	d.want(false, "beside another")
	p.Kill()
	d.want(false, "after one that was killed")
}

// TestKeptUnknown: where the name cannot say everything it is ssh's own, and ssh is asked.
func TestKeptUnknown(t *testing.T) {
	d := newDesk(t)
	own := kept{path: filepath.Join(d.o.Control, "%C")}
	for name, change := range map[string]func(*Address, *Options){
		"another ssh":    func(_ *Address, o *Options) { o.Binary = filepath.Join(d.o.Control, "ssh") },
		"no environment": func(_ *Address, o *Options) { o.Env = nil },
		"names by DNS":   func(a *Address, _ *Options) { a.Options = map[string]string{"canonicalizeHostname": "yes"} },
	} {
		a, o := d.a, d.o
		change(&a, &o)
		if got := o.keep(a); got != own {
			t.Errorf("%s: %+v", name, got)
		}
	}
	d.o.Env = nil
	d.want(true, "at first")
	d.want(true, "and again")
	if n := len(d.sockets()); n != 1 {
		t.Errorf("%d connections are kept", n)
	}
	if got := (Options{}).keep(d.a); got != (kept{}) {
		t.Errorf("nothing is to be kept: %+v", got)
	}
}

// TestKeptGone: a connection that ended, or whose end nobody saw, is made anew.
func TestKeptGone(t *testing.T) {
	d := newDesk(t)
	d.want(true, "at first")
	d.ask("exit")
	d.want(true, "after its end")
	d.want(false, "then")
	for _, m := range d.masters() {
		mustDo(t, syscall.Kill(m, syscall.SIGKILL))
	}
	d.await("a socket without anybody", func() bool { return len(d.masters()) == 0 })
	d.want(true, "beside a stale socket")
	d.want(false, "then")
	mustDo(t, os.Chmod(d.o.Control, 0o777))
	d.want(true, "in a directory for everybody")
	mustDo(t, os.Chmod(d.o.Control, 0o700))
	d.want(false, "in one's own")
	d.await("end of what nobody uses", func() bool { return len(d.sockets()) == 0 })
}

// TestKeptHangs: a connection that does not answer is left alone, after as long as one
// may take.
func TestKeptHangs(t *testing.T) {
	d := newDesk(t)
	d.want(true, "at first")
	for _, m := range d.masters() {
		mustDo(t, syscall.Kill(m, syscall.SIGSTOP))
	}
	d.want(true, "beside one that hangs")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := d.o.session(ctx, d.o.keep(d.a), "true"); !errors.Is(err, context.Canceled) ||
		errors.Is(err, errNoAnswer) {
		t.Errorf("who does not wait gets %v, %v", s, err)
	}
}

// TestKeptFull: where no more sessions are let in there is a connection more.
func TestKeptFull(t *testing.T) {
	d := newDesk(t, "MaxSessions=1")
	d.want(true, "at first")
	s, err := d.o.session(t.Context(), d.o.keep(d.a), "cat")
	for err != nil { // until the first has gone
		s, err = d.o.session(t.Context(), d.o.keep(d.a), "cat")
	}
	defer s.Kill()
	d.want(true, "beside another")
}

// TestKeptErrors: what goes wrong there is told in the same words with ssh and without.
func TestKeptErrors(t *testing.T) {
	d := newDesk(t)
	explain := func(p *process, err error) *Error {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		err = p.within(t.Context(), time.Minute, func(context.Context) error { _, err := p.bootLine(); return err })
		p.Kill()
		var e *Error
		if !errors.As(p.explain(d.a, err), &e) {
			t.Fatal(err)
		}
		return e
	}
	d.want(true, "at first")
	commands := []string{
		"exit 0", "exit 255", "echo no shell for you; exit 1", "echo 'sudo: not found' >&2; exit 1", "kill -9 $$",
		"echo 'sh: 1: exec: /root/.cache/fettle/fettle-0: Permission denied' >&2; exit 126",
		"exec >&-; echo 'ann is not in the sudoers file' >&2; sleep .1; exit 1",
	}
	for _, c := range commands {
		plain := explain(startProcess(d.o.argv(d.a, c, false, d.o.keep(d.a)), nil))
		s, err := d.o.session(t.Context(), d.o.keep(d.a), c)
		if err != nil {
			t.Fatal(err)
		}
		if got := explain(sessionProcess(s, nil), nil); got.Class != plain.Class || got.Text != plain.Text ||
			got.Advice != plain.Advice || got.Said != plain.Said {
			t.Errorf("%s: without ssh it says\n%+v\nand with it\n%+v", c, got, plain)
		}
	}
}

func (d *desk) await(what string, is func() bool) {
	d.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			d.Fatalf("there is no %s", what)
		}
	}
}
