package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

// ann is the operator: she logs in with a key from outside and becomes root.
type ann struct {
	*machine
	key string
}

// keeps has networkd leave the addresses of a link alone and answer for the link
// itself: some sandboxes' kernels cannot tell it what has become of an address.
const keeps = "KeepConfiguration=yes\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n"

// newAnn gives a host an operator, and a network that networkd brings up.
func newAnn(m *machine) *ann {
	m.t.Helper()
	needs.Program(m.t, "ssh")
	dir, err := os.MkdirTemp(m.t.TempDir(), "ann")
	if err != nil {
		m.t.Fatal(err)
	}
	key := filepath.Join(dir, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		m.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
	pub, err := os.ReadFile(key + ".pub")
	if err != nil {
		m.t.Fatal(err)
	}
	m.Run(m.t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends",
		"nftables", "sudo")
	m.Run(m.t, "useradd", "-m", "-s", "/bin/sh", "ann")
	m.Run(m.t, "install", "-d", "-o", "ann", "-m", "0700", "/home/ann/.ssh")
	m.WriteFile(m.t, "/home/ann/.ssh/authorized_keys", string(pub), 0o644)
	m.WriteFile(m.t, "/etc/sudoers.d/ann", "ann ALL=(ALL) NOPASSWD: ALL\n", 0o440)
	m.WriteFile(m.t, "/etc/systemd/network/05-lan.network",
		"[Match]\nName=host0\n\n[Network]\n"+keeps+"\n[Link]\nActivationPolicy=always-up\n", 0o644)
	m.Run(m.t, "systemctl", "enable", "--now", "systemd-networkd")
	m.Run(m.t, "mkdir", "-p", repository)
	a := &ann{m, key}
	m.await("ann's way in", a.getsIn)
	return a
}

// getsIn tells whether ann can log in anew and become root.
func (a *ann) getsIn() bool {
	argv := []string{"-F", "/dev/null", "-i", a.key, "-l", "ann"}
	for _, o := range []string{"BatchMode=yes", "IdentitiesOnly=yes", "StrictHostKeyChecking=no",
		"UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=2"} {
		argv = append(argv, "-o", o)
	}
	out, err := exec.Command("ssh", append(argv, a.Addr, "sudo", "-n", "id", "-un")...).Output()
	return err == nil && strings.TrimSpace(string(out)) == "root"
}

// settings is all that is configured on the host, byte by byte.
func (a *ann) settings() string {
	a.t.Helper()
	return a.Run(a.t, "sh", "-ec",
		`cd /; find etc usr/share/pam-configs -printf '%p %y %m %u %g %l\n' | sort; find etc usr/share/pam-configs -type f -print0 | sort -z | xargs -0 sha256sum`)
}

// lockouts are changes of five kinds that shut ann out.
func lockouts() map[string]string {
	return map[string]string{
		"sshd":     `sshd_config "10-lock" { settings = { AllowUsers = "nobody" } }`,
		"nftables": "nftables \"lock\" {\n  rules = \"table inet lock { chain input { type filter hook input priority filter; tcp dport 22 drop; }; }\"\n}",
		"network": "network \"05-lan\" {\n  interface = \"host0\"\n  content   = <<-EOT\n" + keeps +
			"\n[Link]\nActivationPolicy=always-down\nEOT\n}",
		"sudoers": "sudoers \"ann\" {\n  rules = [\"ann ALL=(root) NOPASSWD: /usr/bin/true\"]\n}",
		"pam":     "pam_profile \"lock\" {\n  account = [\"requisite pam_deny.so\"]\n}",
	}
}

// TestLockedOut: who locks himself out of a host gets back without doing a thing,
// and what is confirmed stays.
func TestLockedOut(t *testing.T) {
	sample.Group(t, 9)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	a := newAnn(newMachine(t, hosts.NewWorld(t), "locked", repo))
	story := func(name string, f func(*ann)) {
		t.Run(name, func(t *testing.T) { f(&ann{&machine{a.Host, t}, a.key}) })
	}
	for _, name := range []string{"sshd", "nftables", "network", "sudoers", "pam"} {
		story(name, func(a *ann) { a.locksHerselfOut(lockouts()[name]) })
	}
	story("CrashAndReboot", (*ann).crashes)
	story("ConfirmedByChecks", (*ann).checksConfirm)
	story("FailedCheck", (*ann).checkFails)
	story("Confirmed", (*ann).confirms)
}

// locksHerselfOut applies a change that shuts the way in, and waits.
func (a *ann) locksHerselfOut(state string) {
	a.only(state + "\npolicy { confirm_within = \"6s\" }\n")
	before := a.settings()
	if !a.getsIn() {
		a.t.Fatal("ann does not get in to begin with")
	}
	a.says(a.fettle(success, "apply", "--yes"), "This may lock you out", "unless you confirm it within 6s",
		"Type: fettle confirm")
	ended := time.Now()
	if a.getsIn() {
		a.t.Error("nobody was locked out, so this shows nothing")
	}
	a.backIn(ended)
	if after := a.settings(); after != before {
		a.t.Errorf("not all is as it was before:\n%s", differing(before, after))
	}
	a.says(a.fettle(success, "log"), "not confirmed in time")
}

// backIn demands that ann gets in again within 30 seconds, with nobody's help.
func (a *ann) backIn(since time.Time) {
	a.t.Helper()
	for !a.getsIn() {
		if time.Since(since) > 30*time.Second {
			a.t.Fatal("ann did not get back in within 30 seconds")
		}
	}
	a.t.Logf("back in %s after the apply ended", time.Since(since).Round(100*time.Millisecond))
	a.await("the end of the run that takes it back", func() bool {
		return a.Exec("systemctl", "list-units", "-q", "--no-legend", "fettle-watch-*").Stdout == ""
	})
	a.fettle(success, "drift")
}

// differing are the lines that only one of two texts has.
func differing(before, after string) string {
	var b strings.Builder
	for sign, pair := range map[string][2]string{"-": {before, after}, "+": {after, before}} {
		other := map[string]bool{}
		for _, l := range strings.Split(pair[1], "\n") {
			other[l] = true
		}
		for _, l := range strings.Split(pair[0], "\n") {
			if !other[l] {
				fmt.Fprintf(&b, "%s %s\n", sign, l)
			}
		}
	}
	return b.String()
}

// crashes: a run that is killed goes back without help, and one that ended before
// the power went goes back at the first recover, which a Debian host does at boot.
func (a *ann) crashes() {
	locks, before := lockouts()["sshd"]+"\npolicy {\n  confirm_within = \"6s\"\n  on_crash       = \"finish\"\n}\n",
		a.settings()
	p := a.heldUp(locks + strings.Replace(waitStep, `after   = [file.before]`,
		"after   = [file.before, sshd_config[\"10-lock\"]]", 1))
	a.Run(a.t, "pkill", "-KILL", "-f", "^fettle apply") // and not who watches it
	a.end(p)
	a.goOn()
	a.backIn(time.Now())
	if after := a.settings(); after != before {
		a.t.Errorf("after a kill:\n%s", differing(before, after))
	}

	a.only(locks)
	a.fettle(success, "apply", "--yes")
	a.PowerCut(a.t)
	a.Start(a.t)
	if a.await("sshd", a.answers); a.getsIn() {
		a.t.Error("nobody is locked out after the reboot, so this shows nothing")
	}
	a.await("the way back", func() bool {
		a.Run(a.t, "fettle", "recover")
		return a.getsIn()
	})
	if after := a.settings(); after != before {
		a.t.Errorf("after a power cut:\n%s", differing(before, after))
	}
}

const checked = `
policy {
  lockout        = "checks"
  confirm_within = "2s"
}
sshd_config "10-port" { settings = { Port = "2222" } }
check "sshd" {
  tcp    = "127.0.0.1:PORT"
  within = "5s"
}
`

// checksConfirm: what the checks confirm stays, whoever is locked out.
func (a *ann) checksConfirm() {
	a.only(strings.Replace(checked, "PORT", "2222", 1))
	a.says(a.fettle(success, "apply", "--yes"), "is kept only if its checks pass", "confirmed by its checks")
	a.stays("/etc/ssh/sshd_config.d/10-port.conf")
	a.says(a.fettle(success, "rollback", "--yes"), "A rollback does not undo itself")
	a.await("the old port", a.getsIn)
}

// checkFails: what they refute goes back at once.
func (a *ann) checkFails() {
	before := a.settings()
	a.only(strings.Replace(checked, "PORT", "2223", 1))
	a.says(a.fettle(rolledBack, "apply", "--yes"), "check:sshd")
	a.await("the way back", a.getsIn)
	if after := a.settings(); after != before {
		a.t.Errorf("not all is as it was before:\n%s", differing(before, after))
	}
}

// confirms: what she confirms over a new connection stays, and so does what was
// not to be armed.
func (a *ann) confirms() {
	a.only("sshd_config \"10-root\" { settings = { PermitRootLogin = \"no\" } }\npolicy { confirm_within = \"10s\" }\n")
	a.fettle(success, "apply", "--yes")
	a.await("the end of sshd's reload", a.getsIn)
	a.says(a.fettle(success, "confirm"), "is confirmed and stays")
	a.stays("/etc/ssh/sshd_config.d/10-root.conf")
	a.only("sshd_config \"10-root\" { settings = { PermitRootLogin = \"yes\" } }\n")
	a.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	a.says(a.fettle(failed, "confirm"), "no run waits for a confirmation")
}

// stays demands that a file outlives whoever watches the run.
func (a *ann) stays(file string) {
	a.t.Helper()
	a.await("the end of the watch", func() bool {
		return a.Exec("systemctl", "list-units", "-q", "--no-legend", "fettle-watch-*").Stdout == ""
	})
	if !a.has(file) {
		a.t.Errorf("%s is gone", file)
	}
}
