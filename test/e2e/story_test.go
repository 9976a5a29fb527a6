package e2e

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// remains lists what a host may keep of fettle and of what came and went, after
// everything was undone. Whatever is not here must be as if nothing had
// been.
func remains() []string {
	return append(hosts.Volatile(),
		"/var/lib/fettle/**", "/run/**", // our own state; what a boot makes anew
		"/usr/local/bin/fettle", "/root/**", // the program and the repository
		// Logs say what happened, and keep saying it.
		"/var/log/apt/**", "/var/log/dpkg.log", "/var/log/alternatives.log", "/var/log/lastlog", "/var/log/faillog",
		"/var/log/btmp",
		// Caches: they are made anew from what is installed.
		"/var/cache/apt/**", "/var/cache/ldconfig/**", "/var/cache/debconf/**", "/etc/ld.so.cache", "/var/lib/apt/**",
		// dpkg and apt keep the previous copy of their own database, and lock it.
		"/var/lib/dpkg/status", "/var/lib/dpkg/*-old", "/var/lib/dpkg/lock*", "/var/lib/dpkg/triggers/**",
		"/var/lib/dpkg/available", "/var/lib/dpkg/info", "/var/lib/dpkg/diversions",
		// What the scripts of cron and nginx leave when they are purged, by Debian's
		// rules. Accounts are compared one by one besides.
		"group crontab", "gshadow crontab", "/etc/group", "/etc/gshadow", "/var/www/**", "unit network-online.target",
		// The account tools keep the previous copy of each of their files.
		"/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/etc/subuid-", "/etc/subgid-",
		// Debian's helper of maintainer scripts remembers what it once enabled.
		"/var/lib/systemd/deb-systemd-helper-enabled/**", "/var/lib/systemd/deb-systemd-user-helper-enabled/**",
	)
}

// TestWebServer lives through the life of a web server: an empty host, the
// first apply, an update, drift of every kind, modules that go, and the way
// back to the host that it was.
func TestWebServer(t *testing.T) {
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorld(t), "start", repo)
	m.Run(t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends", "git",
		"curl")
	twin := m.Snapshot(t)

	m.copyExample(200)
	m.git("init", "-q", "-b", "main")
	first := m.commit("A web server")

	firstApply(m)
	update(m)
	explain(m, first)
	drift(m)
	lessModules(m)

	m.fettle(success, "rollback", "origin", "--yes")
	m.says(m.fettle(success, "status"), "managed   0 addresses")
	// Somebody else's file was in a directory of ours: it outlives it.
	foreign := []string{"/srv/www", "/srv/www/site", "/srv/www/site/foreign"}
	m.purgeRemoved()
	for _, d := range hosts.Compare(twin, m.Snapshot(t), append(remains(), foreign...)) {
		t.Error(d)
	}
}

func firstApply(m *machine) {
	m.says(m.fettle(changes, "plan"), "+ pkg:nginx", "+ file:/srv/www/site/part0/page000.html",
		"> act:reload/nginx.service")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.serves("/", "It works")
	m.serves("/part7/page187.html", "page 187")
	m.want("web1", "hostname")
	m.want("alice sudo", "id", "-Gn", "alice")
	m.want("600", "cat", "/proc/sys/net/ipv4/tcp_keepalive_time")
	m.want("deploy:web:644", "stat", "-c", "%U:%G:%a", "/srv/www/site/part0/page000.html")

	runs := m.runs()
	m.says(m.fettle(success, "apply", "--yes"), "No changes were necessary")
	if now := m.runs(); now != runs {
		m.t.Errorf("an apply without changes made a run: %d, then %d", runs, now)
	}
	m.fettle(success, "plan")
}

// update changes content and configuration. The master process stays, its
// workers do not, and it was told once.
func update(m *machine) {
	master, reloads := m.Run(m.t, "cat", "/run/nginx.pid"), m.reloads("nginx")
	m.edit(repository+"/modules/web/files/site/index.html", "It works", "It works better")
	m.edit(repository+"/modules/web/templates/site.conf.tmpl", "    root", "    index index.html;\\n    root")
	m.commit("Better")
	m.says(m.fettle(changes, "plan"), "2 to update, 1 to run")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.serves("/", "It works better")
	m.want(strings.TrimSpace(master), "cat", "/run/nginx.pid")
	if n := m.reloads("nginx") - reloads; n != 1 {
		m.t.Errorf("nginx was reloaded %d times, want once", n)
	}
}

// reloads counts what the journal knows of reloads of a unit.
func (m *machine) reloads(unit string) int {
	return strings.Count(m.Run(m.t, "journalctl", "-q", "-u", unit, "-o", "cat"), "Reloaded "+unit+".service")
}

func explain(m *machine, commit string) {
	out := m.fettle(success, "explain", "/etc/nginx/sites-enabled/example.org.conf")
	m.says(out, "modules/web/module.hcl:", `link "site-on"`, commit[:8], "A web server", "run      1")
	m.says(m.fettle(success, "show", "2"), "act:reload/nginx.service",
		"file:/etc/nginx/sites-available/example.org.conf", "Better")
}

// drifts are ways in which people and programs change a host behind fettle's
// back, and the address that each must show as.
func drifts() map[string][]string {
	return map[string][]string{
		"file:/srv/www/site/css/site.css":    {"truncate", "-s", "0", "/srv/www/site/css/site.css"},
		"file:/srv/www/site/index.html":      {"chmod", "0600", "/srv/www/site/index.html"},
		"file:/srv/www/site/css":             {"chown", "root", "/srv/www/site/css"},
		"file:/etc/motd":                     {"rm", "/etc/motd"},
		"file:/srv/www/site/home.html":       {"ln", "-sfn", "nowhere", "/srv/www/site/home.html"},
		"file:/srv/www/site/foreign":         {"touch", "/srv/www/site/foreign"},
		"pkg:cron":                           {"apt-get", "purge", "-q", "-y", "cron"},
		"unit:nginx.service":                 {"systemctl", "disable", "-q", "--now", "nginx"},
		"user:alice":                         {"usermod", "-s", "/bin/sh", "alice"},
		"member:alice/sudo":                  {"gpasswd", "-d", "alice", "sudo"},
		"sysctl:net.ipv4.tcp_keepalive_time": {"sysctl", "-q", "-w", "net.ipv4.tcp_keepalive_time=99"},
		"edit:/etc/ssh/sshd_config#match:^#?Permit": {"sed", "-i", "s/^PermitRootLogin.*/PermitRootLogin yes/",
			"/etc/ssh/sshd_config"},
		"edit:/home/alice/.ssh/authorized_keys": {"truncate", "-s", "0", "/home/alice/.ssh/authorized_keys"},
		"file:/etc/localtime":                   {"ln", "-sfn", "/usr/share/zoneinfo/Asia/Tokyo", "/etc/localtime"},
	}
}

// drift is seen, reported without being repaired where that is asked for, and
// repaired.
func drift(m *machine) {
	m.says(m.fettle(success, "drift"), "as applied")
	for _, argv := range drifts() {
		m.Run(m.t, append([]string{"env", "DEBIAN_FRONTEND=noninteractive"}, argv...)...)
	}
	seen := m.fettle(changes, "drift")
	for a := range drifts() {
		m.says(seen, " "+a)
	}
	before := m.Run(m.t, "ls", "-lR", "--time-style=full-iso", "/srv/www", "/etc/nginx")
	m.fettle(checkFailed, "apply", "--yes", "--confirm-within", "0s",
		"--no-repair") // reported only, so nginx does not answer
	m.want(strings.TrimSuffix(before, "\n"), "ls", "-lR", "--time-style=full-iso", "/srv/www", "/etc/nginx")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "drift")
	m.serves("/", "It works better")
}

// lessModules takes a module out of the target, and that back.
func lessModules(m *machine) {
	m.edit(repository+"/fettle.hcl", `"base", "web"`, `"web"`)
	m.commit("Without base")
	m.says(m.fettle(changes, "plan"), "- pkg:sudo", "- user:alice")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.want("start", "hostname")
	m.want("", "id", "-u", "alice")
	if m.has("/home/alice") || m.has("/usr/bin/sudo") {
		m.t.Error("alice's home or sudo is still there")
	}
	m.fettle(success, "rollback", "--yes")
	m.want("alice sudo", "id", "-Gn", "alice")
	m.want("Europe/Amsterdam", "cat", "/etc/timezone")
	m.fettle(success, "drift")
	if !slices.Contains(strings.Fields(m.ReadFile(m.t, "/home/alice/.ssh/authorized_keys")), "alice@laptop") {
		m.t.Error("alice's key did not come back")
	}
}
