package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// storeDeb is a database as Debian packages them: its postinst makes the data, and
// its postrm deletes all of it at a purge, also what is outside of the file list.
func storeDeb(name, version string) hosts.Deb {
	return hosts.Deb{
		Name: name, Version: version,
		Files: map[string]string{"/etc/" + name + "/" + name + ".conf": "port 1\n",
			"/usr/bin/" + name + "-cli": "#!/bin/sh\n"},
		Conffiles: []string{"/etc/" + name + "/" + name + ".conf"},
		Postinst: "if [ \"$1\" = configure ]; then install -d -m 0750 /var/lib/" + name + " /var/log/" + name +
			"; test -e /var/lib/" + name + "/db || echo empty >/var/lib/" + name + "/db; fi",
		Postrm: "if [ \"$1\" = purge ]; then rm -rf /var/lib/" + name + " /var/log/" + name + "; fi",
	}
}

// TestDataOfPackages: a package that leaves the list, or goes with a rollback,
// keeps its configuration and data; only ensure = "purged" deletes them, and only
// with the operator's consent.
func TestDataOfPackages(t *testing.T) {
	sample.Group(t, 14)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.Add(t, storeDeb("redis-like", "1.0"))
	repo.Add(t, storeDeb("postgres-like", "1.0"))
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorld(t), "data", repo)
	m.Run(t, "mkdir", "-p", repository)
	apply := func(code int, text string, args ...string) output {
		t.Helper()
		m.write(map[string]string{"fettle.hcl": text, "list.steps": text})
		return m.fettle(code, append([]string{"steps", "apply", "list.steps", "--yes"}, args...)...)
	}
	const both = "PKG redis-like\nPKG postgres-like\n"
	apply(success, both)
	for _, name := range []string{"redis-like", "postgres-like"} {
		m.WriteFile(t, "/var/lib/"+name+"/db", "a year of orders\n", 0o640)
		m.WriteFile(t, "/etc/"+name+"/"+name+".conf", "port 2\n", 0o644)
	}
	kept := func(name, status string) {
		t.Helper()
		m.want("a year of orders", "cat", "/var/lib/"+name+"/db")
		m.want("port 2", "cat", "/etc/"+name+"/"+name+".conf")
		m.want(status, "dpkg-query", "-W", "-f", "${db:Status-Abbrev}", name)
	}
	m.write(map[string]string{"less.steps": "PKG postgres-like\n"})
	m.says(m.fettle(changes, "steps", "plan", "less.steps"), "pkg:redis-like  no longer in the list",
		"configuration in /etc/redis-like/redis-like.conf and data in /var/lib/redis-like stay", "apt-get purge redis-like")
	m.says(apply(success, "PKG postgres-like\n"), "package redis-like is removed", "data in /var/lib/redis-like stay",
		"apt-get purge redis-like")
	kept("redis-like", "rc ")
	m.fettle(success, "drift")
	m.fettle(success, "rollback", "--yes")
	kept("redis-like", "ii ")

	o := m.fettle(success, "rollback", "origin", "--yes")
	m.says(o, "data in /var/lib/postgres-like stay", "apt-get purge postgres-like")
	kept("redis-like", "rc ")
	kept("postgres-like", "rc ")
	m.fettle(success, "rollback", "--yes")
	kept("postgres-like", "ii ")

	const purge = "PKG redis-like ensure=purged\nPKG postgres-like\n"
	o = apply(failed, purge)
	m.says(o, "irreversible",
		"the purge deletes its configuration in /etc/redis-like/redis-like.conf and data in /var/lib/redis-like",
		"--cross-irreversible")
	kept("redis-like", "ii ")
	apply(success, purge, "--cross-irreversible")
	if m.has("/var/lib/redis-like") || m.has("/etc/redis-like/redis-like.conf") {
		t.Error("the purge left configuration or data")
	}
	m.fettle(success, "drift")
	m.says(m.fettle(success, "rollback", "--yes"), "it was purged", "cannot be restored")
	m.want("empty", "cat", "/var/lib/redis-like/db")
	kept("postgres-like", "ii ")

	// A removal that somebody did by hand is enough for ensure = "absent", and not for "purged".
	apply(success, "PKG redis-like ensure=absent\nPKG postgres-like\n")
	m.want("empty", "cat", "/var/lib/redis-like/db")
	apply(failed, purge)
	apply(success, purge, "--cross-irreversible")
	if m.has("/var/lib/redis-like") {
		t.Error("the purge of what was removed left data")
	}
	if out := m.Run(t, "sh", "-c", "dpkg -l | grep redis-like || true"); strings.Contains(out, "rc") {
		t.Errorf("dpkg still knows of it: %s", out)
	}
}
