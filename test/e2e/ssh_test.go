package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// distantSite is a web server on a host that somebody else works for.
const distantSite = `
target "web1" {
  ssh {}
}
package "nginx" {}
directory "/srv/site" { source = "site" }
file "/etc/nginx/sites-enabled/example.conf" {
  content = "server { listen 8080; root /srv/site; }\n"
  notify  = [service.nginx.reload]
  after   = [package.nginx]
}
service "nginx" {
  enabled = true
  running = true
  after   = [package.nginx]
}
`

// TestSSH lives through the life of a host that is worked on from a desk, where
// nobody ever installed fettle.
func TestSSH(t *testing.T) { eachRelease(t, overSSH) }

func overSSH(t *testing.T, r hosts.Release) {
	d := newDesk(t)
	w := hosts.NewWorldOf(t, r)
	m := plainMachine(d, w, "web1", debianRepo(t, r))
	story := func(name string, f func(*desk, *machine)) {
		t.Run(name, func(t *testing.T) {
			d, m := d.with(t), &machine{m.Host, t}
			defer func() {
				d.hangUp()
				m.Run(t, "rm", "-rf", "/var/lib/fettle", "/etc/story", "/etc/hello", "/etc/big")
			}()
			f(d, m)
		})
	}
	story("HostKeys", hostKeys)
	story("FirstContact", firstContact)
	story("ServerKilled", serverKilled)
	story("LockedOut", lockedOutOverSSH)
	story("Guards", guardsOverSSH)
	story("Sudo", sudoOverSSH)
	if r != hosts.Bookworm { // its OpenSSH knows no penalties
		story("Penalized", penalized)
	}
	if reduced(r) {
		return
	}
	story("Forget", forgetProgram)
	story("BeforeHello", cutBeforeHello)
	story("Upload", cutUpload)
	story("Finish", cutFinish)
	story("Stop", cutStop)
	story("Undo", cutUndo)
	story("Locked", lockedOverSSH)
	story("AtEveryPoint", cutEverywhere)
	story("LittleRoom", littleRoom)
	story("NoProgramsAtHome", noProgramsAtHome)
	story("Shells", shells)
	story("OtherProcessor", otherProcessor)
	story("Noise", noise)
	story("ContentOnce", contentOnce)
	story("ContentGoesOn", contentGoesOn)
	story("Secrets", secretsOverSSH)
	story("Bastion", func(d *desk, m *machine) {
		throughBastion(d, m, &machine{w.Boot(d.t, "jump", hosts.Options{}), d.t})
	})
	if os.Getenv("FETTLE_LONG") != "" {
		story("Silence", cutSilently)
		story("Gigabyte", gigabyte)
	}
}

// hostKeys: a key that nobody knows is refused, and so is another one than before;
// the host is left alone.
func hostKeys(d *desk, m *machine) {
	d.config(m, "root")
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`)
	o := d.fettle(failed, "plan", "-t", "web1")
	d.says(o, "its host key is not known", "ssh-keygen -lf", "--accept-new")
	if d.known() != "" || len(m.programs("/root")) > 0 {
		d.t.Error("the refusal has left something")
	}
	d.fettle(changes, "plan", "-t", "web1", "--accept-new")
	if !strings.Contains(d.known(), "ssh-ed25519") {
		d.t.Errorf("the key is not remembered: %q", d.known())
	}
	d.hangUp()

	m.Run(d.t, "rm", "-rf", "/root/.cache")
	good := d.known()
	d.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", d.at("other"))
	pub := strings.Fields(d.get("other.pub"))
	d.put(".ssh/known_hosts", m.Addr+" "+pub[0]+" "+pub[1]+"\n", 0o600)
	shown := strings.Fields(m.Run(d.t, "ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub"))[1]
	for _, more := range [][]string{nil, {"--accept-new"}} {
		o = d.fettle(failed, append([]string{"plan", "-t", "web1"}, more...)...)
		d.says(o, "its host key has changed", shown, d.at(".ssh/known_hosts")+":1", "ssh-keygen -R web1")
	}
	if len(m.programs("/root")) > 0 {
		d.t.Error("a host with another key was given the program")
	}
	d.put(".ssh/known_hosts", good, 0o600)
}

// penalized: after a failed login sshd turns this address away without a reason, and the
// error says where to look for one.
func penalized(d *desk, m *machine) {
	d.hangUp()
	m.WriteFile(d.t, "/etc/ssh/sshd_config.d/penalties.conf", "PerSourcePenalties authfail:600s min:1s max:600s\n", 0o644)
	m.Run(d.t, "systemctl", "restart", "ssh")
	d.targets("ssh {}", "file \"/etc/hello\" { content = \"hello\\n\" }\n")
	d.must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", d.at("unknown"))
	was := d.get(".ssh/config")
	d.put(".ssh/config", strings.ReplaceAll(was, d.at(".ssh/id"), d.at("unknown")), 0o600)
	d.says(d.fettle(failed, "plan", "-t", "web1"), "it refused your login")
	d.put(".ssh/config", was, 0o600)
	d.says(d.fettle(failed, "plan", "-t", "web1"), "it ended the connection before the SSH handshake",
		"PerSourcePenalties", "journalctl -u ssh")
	m.Run(d.t, "rm", "/etc/ssh/sshd_config.d/penalties.conf")
	m.Run(d.t, "systemctl", "restart", "ssh")
	d.fettle(changes, "plan", "-t", "web1")
}

// firstContact: the program comes by itself and once, the host is put in order, and
// everything that can be asked here can be asked from there.
func firstContact(d *desk, m *machine) {
	twin := m.Snapshot(d.t)
	d.repo(map[string]string{"fettle.hcl": distantSite, "site/index.html": "It works\n", "site/css/site.css": "p {}\n"})
	d.must("git", "init", "-q", "-b", "main")
	d.must("git", "add", "-A")
	d.must("git", "commit", "-q", "-m", "A web server")
	apply := []string{"apply", "--yes", "-t", "web1"}

	d.says(d.fettle(changes, "plan", "-t", "web1"), "+ pkg:nginx", "+ file:/srv/site/css/site.css")
	if m.has("/var/lib/fettle") {
		d.t.Error("a plan has made a state directory")
	}
	program := m.theProgram(d)
	came := m.Run(d.t, "stat", "-c", "%i %Y %Z", program)
	d.fettle(success, apply...)
	m.tells("It works")
	d.says(d.fettle(success, apply...), "No changes were necessary")
	m.want(strings.TrimSpace(came), "stat", "-c", "%i %Y %Z", program)
	d.says(d.fettle(success, "drift", "-t", "web1"), "as applied")

	d.put("repo/site/index.html", "It works better\n", 0o644)
	d.must("git", "commit", "-q", "-a", "-m", "Better")
	d.says(d.fettle(changes, "plan", "-v", "-t", "web1"), "+It works better")
	d.fettle(success, apply...)
	m.tells("It works better")
	m.Run(d.t, "truncate", "-s", "0", "/srv/site/css/site.css")
	d.says(d.fettle(changes, "drift", "-t", "web1"), "file:/srv/site/css/site.css")
	d.fettle(success, apply...)
	askedOverSSH(d, m)

	d.fettle(success, "rollback", "origin", "--yes", "-t", "web1")
	d.says(d.fettle(success, "status", "-t", "web1"), "managed   0 addresses")
	m.purgeRemoved()
	for _, x := range hosts.Compare(twin, m.Snapshot(d.t), append(remains(), "/root/.cache", "/root/.cache/fettle/**")) {
		d.t.Error(x)
	}
}

// theProgram is the one that came to root's cache: its name is its digest.
func (m *machine) theProgram(d *desk) string {
	m.t.Helper()
	got := m.programs("/root")
	if len(got) != 1 {
		m.t.Fatalf("the cache has %v, want only the program", got)
	}
	sum, _, _ := strings.Cut(m.Run(m.t, "sha256sum", "/root/.cache/fettle/"+got[0]), " ")
	if got[0] != "fettle-"+sum {
		m.t.Fatalf("%s has the digest %s", got[0], sum)
	}
	p := "/root/.cache/fettle/fettle-" + sum
	m.want(sum, "sh", "-c", "sha256sum "+p+" | cut -d' ' -f1")
	m.want("700 root 700", "sh", "-c", "echo $(stat -c '%a %U' "+p+") $(stat -c %a /root/.cache/fettle)")
	return p
}

// askedOverSSH: the history is on the host, and tells the same from both ends.
func askedOverSSH(d *desk, m *machine) {
	d.t.Helper()
	d.says(d.fettle(success, "log", "-t", "web1"), "Better", "A web server")
	d.says(d.fettle(success, "status", "-t", "web1"), "managed ")
	d.says(d.fettle(success, "show", "2", "-t", "web1"), "file:/srv/site/index.html", "ssh ")
	d.says(d.fettle(success, "explain", "/srv/site/index.html", "-t", "web1"), "fettle.hcl:6", "A web server",
		"run      2")
	if _, err := os.Stat(filepath.Join(d.home, ".local")); err == nil {
		d.t.Error("something was kept on the desk")
	}
	there := m.Run(d.t, m.theProgram(d), "log")
	if here := d.fettle(success, "log", "-t", "web1").out; !strings.Contains(there, "Better") || here != there {
		d.t.Errorf("fettle log over SSH:\n%s\nand on the host:\n%s", here, there)
	}
}

// forgetProgram: the program goes, what was done and how to take it back stays.
func forgetProgram(d *desk, m *machine) {
	d.targets("ssh {}", `file "/etc/hello" { content = "hello\n" }`)
	d.fettle(success, "apply", "--yes", "-t", "web1")
	m.WriteFile(d.t, "/root/.cache/fettle/lists/mine", "somebody else's", 0o600)
	d.says(d.fettle(success, "target", "delete-binary", "-t", "web1"), "/var/lib/fettle")
	if got := m.programs("/root"); !slices.Equal(got, []string{"lists"}) {
		d.t.Errorf("the cache has %v", got)
	}
	m.Run(d.t, "rm", "-r", "/root/.cache/fettle/lists")
	d.fettle(success, "target", "delete-binary", "-t", "web1")
	if m.has("/root/.cache/fettle") || !m.has("/var/lib/fettle") || !m.has("/etc/hello") {
		d.t.Error("the wrong things are gone")
	}
	d.says(d.fettle(failed, "target", "delete-binary"), "-t TARGET")
	d.fettle(success, "rollback", "--yes", "-t", "web1")
	if m.has("/etc/hello") {
		d.t.Error("the rollback has not worked")
	}
}

// tells waits until the web server says a text to the desk.
func (m *machine) tells(text string) {
	m.t.Helper()
	m.await("the answer "+text, func() bool {
		r, err := http.Get("http://" + m.Addr + ":8080/")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		return err == nil && string(body) == text+"\n"
	})
}
