package fire

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// fails makes a script fail as long as a file is there, which may be about one
// version only.
func fails(script, version string) string {
	return "for f in /run/fail-" + script + " /run/fail-" + script + "-" + version + "; do if test -e $f; then echo " +
		script + " \"$1\" refuses; exit 3; fi; done"
}

// addFailing adds a package each of whose scripts fails when told to, in two
// versions, and one that fails when it is triggered by the other.
func addFailing(t *testing.T, r *hosts.Repo) {
	for _, v := range []string{"1.0", "2.0"} {
		r.Add(t, hosts.Deb{
			Name: "moody", Version: v, Files: map[string]string{"/usr/share/moody/version": v + "\n"},
			Preinst: fails("preinst", v), Postinst: fails("postinst", v), Prerm: fails("prerm", v), Postrm: fails("postrm", v),
		})
	}
	r.Add(t, hosts.Deb{
		Name: "watcher", Version: "1.0", Control: map[string]string{"triggers": "interest-noawait /usr/share/moody\n"},
		Postinst: `if test "$1" = triggered; then ` + fails("trigger", "1.0") + "; fi",
	})
	r.Add(t, hosts.Deb{Name: "bystander", Version: "1.0"})
}

const (
	gone = `package "moody" { ensure = "absent" }`
	one  = `package "moody" { version = "1.0" }`
	two  = `package "moody" { version = "2.0" }`
)

// scriptsFail: a script that fails is named with its last words, the state that
// it leaves is told, and the next apply goes on once the cause is gone.
func scriptsFail(m *machine) {
	for _, c := range []struct{ script, list, version string }{
		{"preinst", one, "1.0"}, {"preinst", two, "2.0"}, {"prerm", gone, ""}, {"postinst", one, "1.0"},
		{"postrm", two, "2.0"}, {"prerm", one, "1.0"}, {"postinst", two, "2.0"}, {"postrm", gone, ""},
	} {
		m.Run(m.t, "touch", "/run/fail-"+c.script)
		o := m.apply(failed, c.list)
		m.says(o, c.script+" ", " refuses", "pkg:moody")
		m.told(o)
		m.Run(m.t, "rm", "/run/fail-"+c.script)
		m.fettle(success, "apply", "--yes")
		m.moodyIs(c.version)
	}
}

// moodyIs demands that moody is there whole in a version, or removed whole. What a
// removal leaves for a purge may stay: apt calls that rc.
func (m *machine) moodyIs(version string) {
	m.t.Helper()
	m.clean()
	got := strings.Replace(m.status("moody"), "  ", " ", 1)
	switch {
	case version == "" && (got == "" || strings.HasPrefix(got, "rc ")):
	case got != "ii "+version:
		m.t.Errorf("moody is %q, want %q", got, version)
	}
}

// triggerFails: the package that was triggered is named, not the one that
// triggered it.
func triggerFails(m *machine) {
	m.apply(success, gone+"\npackage \"watcher\" {}\n")
	m.Run(m.t, "touch", "/run/fail-trigger")
	o := m.apply(failed, one+"\npackage \"watcher\" {}\n")
	m.says(o, "watcher: installed watcher package post-installation script", "trigger triggered refuses",
		"watcher is half configured")
	m.Run(m.t, "rm", "/run/fail-trigger")
	m.says(m.fettle(success, "recover"), "is finished first: watcher is half configured")
	m.clean()
	m.fettle(success, "apply", "--yes")
	m.moodyIs("1.0")
	m.says(m.fettle(success, "recover"), "Nothing to recover")
	m.apply(success, gone)
}

// failureTakenBack: with --on-failure undo the old version is back.
func failureTakenBack(m *machine) {
	m.apply(success, one)
	m.Run(m.t, "touch", "/run/fail-postinst-2.0")
	m.only(two)
	o := m.fettle(rolledBack, "apply", "--yes", "--on-failure", "undo")
	m.says(o, "postinst configure refuses")
	m.moodyIs("1.0")
	m.Run(m.t, "rm", "/run/fail-postinst-2.0")
	m.only(one)
	m.fettle(success, "plan")
	m.apply(success, gone)
}
