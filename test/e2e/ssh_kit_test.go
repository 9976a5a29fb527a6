package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/needs"
)

// desk is where somebody works who has machines to care for: a home with the
// settings of ssh, a repository, and the program. The machines know nothing of fettle.
type desk struct {
	t    *testing.T
	home string
	bin  string
}

// newDesk makes a desk and builds the program for it.
func newDesk(t *testing.T) *desk {
	t.Helper()
	needs.Program(t, "ssh")
	home, err := os.MkdirTemp("", "desk") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	d := &desk{t: t, home: home, bin: filepath.Join(home, "bin", "fettle")}
	for _, dir := range []string{"bin", ".ssh", "run", "repo"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.build(runtime.GOARCH)
	d.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ann@desk", "-f", d.at(".ssh/id"))
	d.put(".ssh/config", "", 0o600)
	d.put(".gitconfig", "[user]\nname = Ann\nemail = ann@example.org\n", 0o600)
	t.Cleanup(d.hangUp)
	return d
}

// build makes the program as packages have it, with what it carries for these processors.
func (d *desk) build(arches ...string) {
	d.t.Helper()
	dependsOnSources(d.t)
	cmd := exec.Command("../../packaging/program.sh", append([]string{d.bin}, arches...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("cannot build fettle: %v\n%s", err, out)
	}
}

// with is the desk for another test.
func (d *desk) with(t *testing.T) *desk {
	o := *d
	o.t = t
	return &o
}

func (d *desk) at(name string) string { return filepath.Join(d.home, name) }

func (d *desk) put(name, text string, mode os.FileMode) {
	d.t.Helper()
	p := d.at(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, []byte(text), mode),
		os.Chmod(p, mode)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) get(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(d.at(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

// repo makes these files all that the repository holds, besides .git.
func (d *desk) repo(files map[string]string) {
	d.t.Helper()
	old, _ := filepath.Glob(d.at("repo/*"))
	for _, p := range old {
		if err := os.RemoveAll(p); err != nil {
			d.t.Fatal(err)
		}
	}
	for name, text := range files {
		d.put(filepath.Join("repo", name), text, 0o644)
	}
}

// targets is a repository with one file, for targets that are reached in one way.
func (d *desk) targets(block, text string) {
	d.t.Helper()
	d.repo(map[string]string{"fettle.hcl": "target \"web1\" {\n" + block + "\n}\n" + text})
}

func (d *desk) env() []string {
	env := []string{"HOME=" + d.home, "USER=ann", "LOGNAME=ann", "LANG=C.UTF-8", "XDG_RUNTIME_DIR=" + d.at("run")}
	return append(env, "PATH="+d.at("bin")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}

// command is a program of the desk. OpenSSH goes by the account and not by HOME, and a
// wrapper for it would be another ssh for fettle: so fettle runs where the files of this
// machine's ssh are the desk's own.
func (d *desk) command(argv ...string) *exec.Cmd {
	if argv[0] == d.bin {
		const enter = `mount --bind "$0" /etc/ssh/ssh_config && { [ ! -d "$1" ] || mount -t tmpfs none "$1"; } && shift && exec "$@"`
		argv = append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c", enter, d.at(".ssh/config"),
			accountSSH()}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = d.at("repo"), d.env()
	return cmd
}

// accountSSH is where the account that runs the tests has its own settings of ssh.
func accountSSH() string {
	home := "/root"
	if u, err := user.Current(); err == nil {
		home = u.HomeDir
	}
	return filepath.Join(home, ".ssh")
}

// must runs a program of the desk.
func (d *desk) must(argv ...string) string {
	d.t.Helper()
	out, err := d.command(argv...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// fettle runs the program in the repository and demands an exit code.
func (d *desk) fettle(code int, args ...string) output {
	d.t.Helper()
	cmd := d.command(append([]string{d.bin}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	got := cmd.ProcessState.ExitCode()
	d.t.Logf("desk$ fettle %s  => %d in %s\n%s%s", strings.Join(args, " "), got,
		time.Since(began).Round(time.Millisecond), &out, &errs)
	if got != code {
		d.t.Fatalf("fettle %s: exit code %d, want %d", strings.Join(args, " "), got, code)
	}
	return output{out.String(), errs.String()}
}

// begin starts fettle, for a test that gets in its way.
func (d *desk) begin(args ...string) *process {
	d.t.Helper()
	cmd := d.command(append([]string{d.bin}, args...)...)
	p := &process{cmd, &said{}, make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.out, p.out
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	d.t.Cleanup(func() { _ = cmd.Process.Kill(); <-p.done })
	return p
}

// end waits for what begin started and gives its exit code.
func (d *desk) end(p *process) int {
	d.t.Helper()
	<-p.done
	d.t.Logf("desk$ fettle %s  => %s\n%s", strings.Join(p.Args[1:], " "), p.ProcessState, p.out)
	return p.ProcessState.ExitCode()
}

func (d *desk) says(o output, texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(o.all(), text) {
			d.t.Errorf("fettle does not say %q", text)
		}
	}
}

func (d *desk) saysNot(o output, texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if strings.Contains(o.all(), text) {
			d.t.Errorf("fettle says %q", text)
		}
	}
}

// knows has the ssh of the desk know a host: its address, its key, and the user to
// log in as.
func (d *desk) knows(m *machine, user string, more ...string) {
	d.t.Helper()
	d.config(m, user, more...)
	key := strings.Fields(m.ReadFile(d.t, "/etc/ssh/ssh_host_ed25519_key.pub"))
	d.put(".ssh/known_hosts", d.known()+m.Addr+" "+key[0]+" "+key[1]+"\n", 0o600)
}

// known are the keys of hosts that are known.
func (d *desk) known() string {
	text, _ := os.ReadFile(d.at(".ssh/known_hosts"))
	return string(text)
}

// config adds a host to the settings of ssh.
func (d *desk) config(m *machine, user string, more ...string) {
	d.t.Helper()
	text := fmt.Sprintf("Host %s\n  HostName %s\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile /dev/null\n",
		m.Name, m.Addr, user, d.at(".ssh/id"), d.at(".ssh/known_hosts"))
	for _, line := range more {
		text += "  " + line + "\n"
	}
	d.put(".ssh/config", d.get(".ssh/config")+text, 0o600)
}

// hangUp ends the connections that are kept, so that the next one is new.
func (d *desk) hangUp() {
	sockets, _ := filepath.Glob(d.at("run/fettle/ssh/*"))
	for _, s := range sockets {
		_ = d.command("/usr/bin/ssh", "-F", "/dev/null", "-S", s, "-O", "exit", "any").Run()
		_ = os.Remove(s)
	}
}

// welcomes lets the desk's key in to an account of a host.
func (m *machine) welcomes(d *desk, user string) {
	m.t.Helper()
	home := "/home/" + user
	if user == "root" {
		home = "/root"
	}
	m.Run(m.t, "install", "-d", "-o", user, "-m", "0700", home+"/.ssh")
	m.WriteFile(m.t, home+"/.ssh/authorized_keys", d.get(".ssh/id.pub"), 0o644)
}

// plainMachine is a host without fettle to which the desk's key opens root.
func plainMachine(d *desk, w *hosts.World, name string, r *hosts.Repo) *machine {
	d.t.Helper()
	m := &machine{Host: w.Boot(d.t, name, hosts.Options{Repo: r}), t: d.t}
	m.settle()
	m.welcomes(d, "root")
	m.answersSSH()
	return m
}

func (m *machine) answersSSH() {
	m.t.Helper()
	m.await("sshd", func() bool { return exec.Command("ssh-keyscan", "-T", "1", m.Addr).Run() == nil })
}

// programs are the files of programs in the cache of an account.
func (m *machine) programs(home string) []string {
	m.t.Helper()
	r := m.Exec("sh", "-c", "ls "+home+"/.cache/fettle 2>/dev/null")
	return strings.Fields(r.Stdout)
}
