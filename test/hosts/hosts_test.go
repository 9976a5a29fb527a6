package hosts

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

const webUnit = `[Unit]
Description=web for tests
[Service]
ExecStart=/usr/bin/web
[Install]
WantedBy=multi-user.target
`

// webRepo has package web, a service that does nothing, and what it needs.
func webRepo(t *testing.T) *Repo {
	t.Helper()
	r := NewRepo(t)
	r.Add(t, web("1.0"))
	r.Add(t, Deb{Name: "web-data", Version: "1", Files: map[string]string{"/usr/share/web/index.html": "hello\n"}})
	r.Publish(t)
	return r
}

func web(version string) Deb {
	return Deb{
		Name: "web", Version: version, Depends: "web-data", Unit: webUnit, Conffiles: []string{"/etc/web.conf"},
		Files: map[string]string{
			"/usr/bin/web":  "#!/bin/sh\nexec sleep infinity\n",
			"/etc/web.conf": "version=" + version + "\n",
		},
	}
}

func install(t *testing.T, h *Host, names ...string) {
	t.Helper()
	h.Run(t, "apt-get", "update", "-q")
	h.Run(t, append([]string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y"}, names...)...)
}

func TestHostsLiveAndReboot(t *testing.T) {
	w := NewWorld(t)
	all := w.BootAll(t, Options{Repo: webRepo(t)}, "web1", "web2", "web3")
	for _, h := range all {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			if got := strings.TrimSpace(h.Run(t, "hostname")); got != h.Name {
				t.Errorf("hostname is %q", got)
			}
			install(t, h, "web")
			active(t, h, "web")
			old := bootID(t, h)
			h.Reboot(t)
			if bootID(t, h) == old || h.Boots() != 2 {
				t.Errorf("did not reboot: boot %d, id %s", h.Boots(), bootID(t, h))
			}
			active(t, h, "web")
		})
	}
}

func active(t *testing.T, h *Host, unit string) {
	t.Helper()
	if got := h.Exec("systemctl", "is-active", unit); got.Stdout != "active\n" {
		t.Errorf("%s on %s: %s%s", unit, h.Name, got.Stdout, got.Stderr)
	}
}

func bootID(t *testing.T, h *Host) string {
	t.Helper()
	return h.Run(t, "cat", "/proc/sys/kernel/random/boot_id")
}

func TestPowerCut(t *testing.T) {
	h := NewWorld(t).Boot(t, "victim", Options{})
	h.WriteFile(t, "/etc/kept", "kept\n", 0o640)
	old := bootID(t, h)
	h.PowerCut(t)
	if got := h.Exec("true"); got.ExitCode != -1 || !strings.Contains(got.Stderr, "the host is off") {
		t.Errorf("a host that is off ran a command: %+v", got)
	}
	if got := h.ReadFile(t, "/etc/kept"); got != "kept\n" {
		t.Errorf("read %q while the host is off", got)
	}
	h.WriteFile(t, "/etc/planted", "planted\n", 0o600)
	h.Start(t)
	if bootID(t, h) == old {
		t.Error("the host never went down")
	}
	if got := h.Run(t, "stat", "-c", "%a", "/etc/kept", "/etc/planted"); got != "640\n600\n" {
		t.Errorf("modes are %q", got)
	}
	h.PowerOff(t)
	h.Start(t)
}

func TestHostRebootsByItself(t *testing.T) {
	h := NewWorld(t).Boot(t, "own-will", Options{})
	h.Run(t, "systemd-run", "--no-block", "systemctl", "reboot")
	h.AwaitBoot(t, 2)
}

func TestNetwork(t *testing.T) {
	all := NewWorld(t).BootAll(t, Options{}, "near", "far")
	ping := []string{"ping", "-c1", "-W2", all[1].Addr}
	all[0].Run(t, ping...)
	all[1].Unplug(t)
	if got := all[0].Exec(ping...); got.ExitCode == 0 {
		t.Error("reached a host that is unplugged")
	}
	all[1].Plug(t)
	// The way to a neighbour that was away is looked up anew, which may take a moment.
	for tries := 1; all[0].Exec(ping...).ExitCode != 0; tries++ {
		if tries == 10 {
			t.Fatal("a host that is plugged in again is not reached")
		}
	}
}

// plant is a change of a host: the difference that it must show as, and what
// else it may touch, as patterns for Compare.
type plant struct {
	name, argv, must string
	may              []string
}

func plants() []plant {
	aptCache := []string{"/var/cache/apt/*.bin", "/var/lib/dpkg/**", "/var/lib/apt/extended_states"}
	return []plant{
		{"content", "sed -i s/bash/dash/ /etc/skel/.profile", "~ file /etc/skel/.profile: ", nil},
		{"mode", "chmod u+s /usr/bin/env", "~ file /usr/bin/env: ", nil},
		{"owner", "chown daemon /etc/issue", "~ file /etc/issue: ", nil},
		{"xattr", "setfattr -n user.mark -v x /etc/issue.net", "~ file /etc/issue.net: ", nil},
		{"acl", "setfacl -m u:daemon:r /etc/debian_version", "~ file /etc/debian_version: ", nil},
		{"symlink", "ln -s nowhere /opt/link", "+ file /opt/link: symlink", nil},
		{"litter", "mkfifo /tmp/litter", "+ file /tmp/litter: fifo", nil},
		{"removed", "rm /etc/skel/.bash_logout", "- file /etc/skel/.bash_logout: ", nil},
		{"hold", "apt-mark hold procps", "~ package procps: ", aptCache},
		{"auto", "apt-mark auto acl", "~ package acl: ", aptCache},
		{"stopped", "systemctl stop ssh", "~ unit ssh.service: ", nil},
		{"disabled", "systemctl disable ssh", "~ unit-file ssh.service: ", []string{
			"/etc/rc?.d/?01ssh", "/etc/systemd/system/**", "unit ssh.service", "unit-file sshd.service",
			"unit *sshd-keygen.service", "unit auditd.service",
		}},
		{"account", "groupadd planted", "+ group planted: ", []string{"gshadow planted", "/etc/group*", "/etc/gshadow*"}},
	}
}

func TestSnapshotFindsEveryDifference(t *testing.T) {
	w := NewWorld(t)
	twins := w.BootAll(t, Options{}, "twin-a", "twin-b")
	allow := append(Identity(), Volatile()...)
	before := twins[0].Snapshot(t)
	for _, d := range Compare(before, twins[1].Snapshot(t), allow) {
		t.Errorf("untouched twins differ: %s", d)
	}
	for _, plant := range plants() {
		t.Run(plant.name, func(t *testing.T) {
			twins[0].Run(t, strings.Fields(plant.argv)...)
			after := twins[0].Snapshot(t)
			found := false
			for _, d := range Compare(before, after, append(allow, plant.may...)) {
				if !strings.HasPrefix(d, plant.must) {
					t.Errorf("%s also gave: %s", plant.argv, d)
				}
				found = true
			}
			if !found {
				t.Errorf("%s went unnoticed", plant.argv)
			}
			before = after
		})
	}
}

func TestSnapshotAfterUndo(t *testing.T) {
	h := NewWorld(t).Boot(t, "undo", Options{Repo: webRepo(t)})
	h.Run(t, "apt-get", "update", "-q")
	before := h.Snapshot(t)
	install(t, h, "web")
	if len(Compare(before, h.Snapshot(t), nil)) == 0 {
		t.Fatal("an installed package went unnoticed")
	}
	h.Run(t, "apt-get", "purge", "-q", "-y", "web", "web-data")
	allow := append(Volatile(), "/var/cache/apt/**", "/var/lib/apt/**", "/var/lib/dpkg/**", "/var/log/**",
		"/var/lib/systemd/**")
	for _, d := range Compare(before, h.Snapshot(t), allow) {
		t.Errorf("purge left: %s", d)
	}
}

func TestNginx(t *testing.T) {
	r := NewRepo(t)
	r.AddDebian(t)
	r.Publish(t)
	h := NewWorld(t).Boot(t, "nginx", Options{Repo: r})
	install(t, h, "nginx", "curl")
	active(t, h, "nginx")
	page := h.Run(t, "curl", "-sS", fmt.Sprintf("http://%s/", h.Addr))
	if !strings.Contains(page, "Welcome to nginx!") {
		t.Errorf("nginx answers:\n%s", page)
	}
}

func TestUpgradeKeepsConffile(t *testing.T) {
	r := webRepo(t)
	h := NewWorld(t).Boot(t, "upgrade", Options{Repo: r})
	install(t, h, "web")
	h.WriteFile(t, "/etc/web.conf", "mine\n", 0o644)
	r.Add(t, web("1.1"))
	r.Publish(t)
	h.Run(t, "apt-get", "update", "-q")
	h.Run(t, "apt-get", "install", "-q", "-y", "-o", "Dpkg::Options::=--force-confold", "web")
	if got := h.Run(t, "dpkg-query", "-W", "-f", "${Version}", "web"); got != "1.1" {
		t.Errorf("version is %q", got)
	}
	if got := h.ReadFile(t, "/etc/web.conf"); got != "mine\n" {
		t.Errorf("conffile is %q", got)
	}
	active(t, h, "web")
}

func TestBootNamesFailedUnits(t *testing.T) {
	h := NewWorld(t).Boot(t, "broken", Options{})
	h.WriteFile(t, "/etc/systemd/system/broken.service",
		"[Service]\nType=oneshot\nExecStart=/bin/false\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	h.Run(t, "systemctl", "enable", "broken")
	h.PowerCut(t)
	if err := h.start(); err == nil || !strings.Contains(err.Error(), "broken.service") {
		t.Errorf("booted with a failed unit: %v", err)
	}
	if got := h.Exec("true"); got.ExitCode != 0 {
		t.Errorf("cannot look at a host with a failed unit: %+v", got)
	}
}
