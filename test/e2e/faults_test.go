package e2e

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// faultRepo has packages that fail, wait and come in two versions, and nginx.
// It gives the path of the older version, for it to go away.
func faultRepo(t *testing.T) (r *hosts.Repo, old string) {
	r = hosts.NewRepo(t)
	r.AddDebian(t)
	old = r.Add(t, hosts.Deb{Name: "demo", Version: "1.0", Files: map[string]string{"/usr/share/demo": "1\n"}})
	r.Add(t, hosts.Deb{Name: "demo", Version: "2.0", Files: map[string]string{"/usr/share/demo": "2\n"}})
	r.Add(t, hosts.Deb{Name: "picky", Version: "1.0",
		Postinst: "test -e /run/allow || { echo picky wants /run/allow; exit 7; }"})
	r.Add(t, hosts.Deb{Name: "slow", Version: "1.0", Postinst: waits})
	r.Publish(t)
	return r, old
}

// waits is a command that a test holds up: it says so with a file, and goes on
// when another file comes.
const waits = `touch /run/waits; while ! test -e /run/go; do sleep 0.05; done`

// waitStep holds a run up between two files.
const waitStep = `
directory "/etc/story" {}
file "before" {
  path    = "/etc/story/before"
  content = "new\n"
}
exec "hold" {
  command = ["sh", "-c", "` + waits + `"]
  undo    = ["true"]
  after   = [file.before]
}
file "/etc/story/after" {
  content = "new\n"
  after   = [exec.hold]
}
`

// only makes text the whole repository.
func (m *machine) only(text string) {
	m.t.Helper()
	m.write(map[string]string{"fettle.hcl": text})
}

// heldUp starts an apply and waits until it is in the middle.
func (m *machine) heldUp(text string, args ...string) *process {
	m.t.Helper()
	m.Run(m.t, "rm", "-f", "/run/waits", "/run/go")
	m.only(text)
	p := m.begin(append([]string{"apply", "--yes"}, args...)...)
	m.await("the middle of the run", func() bool {
		if p.over() {
			m.t.Fatalf("the run was over too early:\n%s", p.out)
		}
		return m.has("/run/waits")
	})
	return p
}

func (m *machine) signal(name string) { m.Run(m.t, "pkill", "-"+name, "-x", "fettle") }
func (m *machine) goOn()              { m.Run(m.t, "touch", "/run/go") }

// TestFaults is one host to which everything happens that goes wrong.
func TestFaults(t *testing.T) {
	sample.Group(t, 12)
	t.Parallel()
	repo, old := faultRepo(t)
	m := newMachine(t, hosts.NewWorld(t), "faulty", repo)
	story := func(name string, f func(*machine)) {
		t.Run(name, func(t *testing.T) { f(&machine{m.Host, t}) })
	}
	story("BadConfiguration", badConfiguration)
	story("FailedCheckRollsBack", failedCheck)
	story("UnitThatDoesNotStart", failingUnit)
	story("PackageScriptFails", failingPackage)
	story("UpgradeAndBack", func(m *machine) { upgradeAndBack(m, repo, old) })
	story("KilledAmongFiles", killedAmongFiles)
	story("KilledInTransaction", killedInTransaction)
	story("TwoAtOnce", twoAtOnce)
	story("InterruptedOnceAndTwice", interrupted)
	story("PowerCut", powerCut)
	story("FrozenAcrossReboot", frozen)
	story("CutsItsOwnNetwork", unconfirmed)
}

const site = `
package "nginx" {}
file "/etc/nginx/conf.d/story.conf" {
  content  = "CONTENT"
  validate = "nginx -t"
  notify   = [service.nginx.reload]
}
service "nginx" {
  running = true
  after   = [package.nginx]
}
`

func badConfiguration(m *machine) {
	m.only(strings.Replace(site, "CONTENT", `port_in_redirect off;\n`, 1))
	m.fettle(success, "apply", "--yes")
	master, reloads := m.Run(m.t, "cat", "/run/nginx.pid"), m.reloads("nginx")
	m.only(strings.Replace(site, "CONTENT", `port_in_redirect perhaps;\n`, 1))
	out := m.fettle(failed, "apply", "--yes")
	m.says(out, `invalid value "perhaps"`, "the validation rejected the new file", "the old content was restored",
		"fettle.hcl:3")
	m.want("port_in_redirect off;", "cat", "/etc/nginx/conf.d/story.conf")
	m.want(strings.TrimSpace(master), "cat", "/run/nginx.pid")
	if n := m.reloads("nginx"); n != reloads {
		m.t.Errorf("nginx was told of a configuration that it refuses: %d reloads, then %d", reloads, n)
	}
	m.only(strings.Replace(site, "CONTENT", `port_in_redirect off;\n`, 1))
	m.fettle(success, "apply", "--yes")
	m.fettle(success, "plan")
}

func failedCheck(m *machine) {
	m.only(`file "/etc/story.conf" { content = "good\n" }`)
	m.fettle(success, "apply", "--yes")
	m.only(`
file "/etc/story.conf" { content = "bad\n" }
check "good" {
  file     = "/etc/story.conf"
  contains = "good"
  within   = "1s"
}`)
	m.says(m.fettle(rolledBack, "apply", "--yes", "--on-check-failure", "undo"), "check:good")
	m.want("good", "cat", "/etc/story.conf")
	m.fettle(success, "drift")
	m.says(m.fettle(checkFailed, "apply", "--yes"), "check:good")
	m.want("bad", "cat", "/etc/story.conf")
}

const boom = `
file "unit" {
  path    = "/etc/systemd/system/boom.service"
  content = "[Service]\nExecStart=COMMAND\n"
  notify  = [service.boom.restart]
}
service "boom" {
  running = true
  after   = [file.unit]
}
`

func failingUnit(m *machine) {
	m.only(strings.Replace(boom, "COMMAND", "/bin/false --boom-says-why", 1))
	out := m.fettle(failed, "apply", "--yes")
	m.says(out, "boom.service", "last log lines", "status=1/FAILURE")
	// A unit file that changed is read again, and who runs it runs the new one.
	for _, seconds := range []string{"1001", "1002"} {
		m.only(strings.Replace(boom, "COMMAND", "/bin/sleep "+seconds, 1))
		m.fettle(success, "apply", "--yes")
		m.want("NeedDaemonReload=no", "systemctl", "show", "-p", "NeedDaemonReload", "boom")
		m.want("/bin/sleep "+seconds, "sh", "-c",
			`tr '\0' ' ' < /proc/$(systemctl show -P MainPID boom)/cmdline | sed 's/ $//'`)
	}
	m.fettle(success, "drift")
}

func failingPackage(m *machine) {
	m.only(`package "picky" {}`)
	m.says(m.fettle(failed, "apply", "--yes"), "picky wants /run/allow", "pkg:picky")
	m.Run(m.t, "touch", "/run/allow")
	m.fettle(success, "apply", "--yes")
	m.want("installed", "dpkg-query", "-W", "-f", "${db:Status-Status}", "picky")
	m.want("", "dpkg", "--audit")
}

func upgradeAndBack(m *machine, repo *hosts.Repo, old string) {
	version := []string{"dpkg-query", "-W", "-f", "${Version}", "demo"}
	m.only(`package "demo" { version = "1.0" }`)
	m.fettle(success, "apply", "--yes")
	m.want("1.0", version...)
	m.only(`package "demo" { version = "2.0" }`)
	m.fettle(success, "apply", "--yes")
	m.want("2.0", version...)
	if err := os.Remove(old); err != nil {
		m.t.Fatal(err)
	}
	repo.Publish(m.t)
	m.Run(m.t, "apt-get", "update", "-q")
	m.fettle(success, "rollback", "--yes")
	m.want("1.0", version...)
	m.want("1", "cat", "/usr/share/demo")
}

func killedAmongFiles(m *machine) {
	p := m.heldUp(waitStep)
	m.says(m.fettle(success, "status"), "is in progress")
	m.signal("KILL")
	m.end(p)
	m.await("the end of its command", func() bool { return m.Exec("pgrep", "-f", "touch /run/waits").ExitCode != 0 })
	m.says(m.fettle(success, "status"), "did not end", "fettle recover")
	m.fettle(success, "recover")
	if m.has("/etc/story") {
		m.t.Error("what the killed run had made is still there")
	}
	m.fettle(success, "recover")

	p = m.heldUp(waitStep) // and without being told: the next apply settles it
	m.signal("KILL")
	m.end(p)
	m.goOn()
	m.fettle(success, "apply", "--yes")
	m.want("new", "cat", "/etc/story/after")
	m.fettle(success, "drift")
}

func killedInTransaction(m *machine) {
	p := m.heldUp("package \"slow\" {}\n")
	m.signal("KILL")
	m.end(p)
	m.goOn()
	m.fettle(success, "recover")
	m.want("", "dpkg", "--audit")
	m.fettle(success, "apply", "--yes")
	m.want("installed", "dpkg-query", "-W", "-f", "${db:Status-Status}", "slow")
	m.want("", "dpkg", "--audit")
	m.fettle(success, "drift")
}

func twoAtOnce(m *machine) {
	p := m.heldUp(waitStep)
	out := m.fettle(locked, "apply", "--yes")
	m.says(out, "root", "apply")
	m.goOn()
	if code := m.end(p); code != success {
		m.t.Errorf("the first ended with %d", code)
	}
	m.fettle(success, "apply", "--yes")
}

func interrupted(m *machine) {
	m.only("")
	m.fettle(success, "apply", "--yes")
	p := m.heldUp(waitStep)
	m.signal("INT")
	if code := m.end(p); code != failed {
		m.t.Errorf("interrupted once, it ended with %d", code)
	}
	m.says(output{out: p.out.String()}, "stopping cleanly", "interrupted by a signal")
	m.want("0", "pgrep", "-fc", "touch /run/waits") // the command went with it

	m.Run(m.t, "apt-get", "purge", "-q", "-y", "slow")
	p = m.heldUp("package \"slow\" {}\n")
	m.signal("INT")
	m.await("the first signal's answer", func() bool { return strings.Contains(p.out.String(), "stopping cleanly") })
	m.signal("INT")
	if code := m.end(p); code == success {
		m.t.Errorf("interrupted twice, it ended with %d", code)
	}
	m.goOn()
	m.fettle(success, "apply", "--yes")
	m.want("", "dpkg", "--audit")
	m.fettle(success, "drift")
}

func powerCut(m *machine) {
	m.goOn()
	m.only("")
	m.fettle(success, "apply", "--yes")
	p := m.heldUp(waitStep)
	m.PowerCut(m.t)
	m.end(p)
	m.Start(m.t)
	m.says(m.fettle(success, "status"), "unfinished")
	m.fettle(success, "recover")
	if m.has("/etc/story") {
		m.t.Error("what the run had made before the power cut is still there")
	}
	m.says(m.fettle(success, "log"), "rolled-back")
}

func frozen(m *machine) {
	m.only(`file "/etc/frozen" { content = "x" }`)
	m.fettle(success, "freeze", "--reason", "audit until Monday")
	m.Reboot(m.t)
	m.says(m.fettle(failed, "apply", "--yes"), "frozen", "audit until Monday", "fettle unfreeze")
	if m.has("/etc/frozen") {
		m.t.Error("a frozen machine was changed")
	}
	m.fettle(success, "unfreeze")
	m.fettle(success, "apply", "--yes")
}

func unconfirmed(m *machine) {
	if !m.answers() {
		m.t.Fatal("sshd does not answer to begin with")
	}
	m.only(`
service "ssh" { running = false }
file "/etc/frozen" { content = "cut off" }`)
	m.says(m.fettle(success, "apply", "--yes", "--confirm-within", "3s"), "fettle confirm")
	if m.answers() {
		m.t.Error("nobody was cut off, so this shows nothing")
	}
	m.await("the way back", m.answers)
	m.await("its end", func() bool { return m.Exec("fettle", "drift").ExitCode == success })
	m.want("x", "cat", "/etc/frozen")
	m.says(m.fettle(success, "log"), "rollback to run")

	m.only(`file "/etc/frozen" { content = "confirmed" }`)
	m.fettle(success, "apply", "--yes", "--confirm-within", "3s", "--lock-wait",
		"1m") // the process that undid the run may still hold the lock
	m.fettle(success, "confirm")
	m.Run(m.t, "sleep", "4") // past the time at which it would have gone back
	m.want("confirmed", "cat", "/etc/frozen")
}

// answers tells whether somebody outside reaches the host over SSH.
func (m *machine) answers() bool {
	c, err := net.DialTimeout("tcp", net.JoinHostPort(m.Addr, "22"), time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}
