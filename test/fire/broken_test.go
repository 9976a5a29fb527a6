package fire

import (
	"strings"
)

// archivePath is where the host sees the packages of the archive.
const archivePath = "/srv/repo/"

// breakage is a way in which people and crashes leave a package, by name: what
// makes it of an absent moody, and what dpkg says of it then.
type breakage struct{ name, status, make string }

func breakages() []breakage {
	const (
		unpack  = "dpkg --unpack " + archivePath + "moody_1.0_all.deb\n"
		install = "dpkg --install " + archivePath + "moody_1.0_all.deb\n"
		status  = `sed -i '/^Package: moody$/,/^$/s/^Status: .*/Status: WANT/' /var/lib/dpkg/status`
	)
	as := func(want string) string { return strings.Replace(status, "WANT", want, 1) }
	return []breakage{
		{"unpacked", "iU", unpack},
		{"half configured", "iF", "touch /run/fail-postinst; " + unpack + "dpkg --configure moody; rm /run/fail-postinst"},
		{"half installed", "iH", install + as("install ok half-installed")},
		{"half installed, to be reinstalled", "iHR", install + as("install reinstreq half-installed")},
		{"installed, to be reinstalled", "iiR", install + as("install reinstreq installed")},
		{"half removed", "rH", install + as("deinstall ok half-installed")},
		{"triggers pending", "it", "dpkg --install " + archivePath + "watcher_1.0_all.deb; dpkg --no-triggers --install " +
			archivePath + "moody_1.0_all.deb"},
	}
}

// leave brings the host into a state, with moody absent before.
func (m *machine) leave(b breakage) {
	m.t.Helper()
	m.apply(success, gone)
	m.Run(m.t, "sh", "-c", b.make+"\ntrue")
	name := "moody"
	if b.status == "it" {
		name = "watcher"
	}
	if got := m.status(name); !strings.HasPrefix(got, b.status) {
		m.t.Fatalf("%s: %s is %q, want %q", b.name, name, got, b.status)
	}
}

// brokenAtStart: whatever state a package is in, apply brings it to the one
// that is wanted, present or absent.
func brokenAtStart(m *machine) {
	for i, b := range breakages() {
		for k, c := range []struct{ list, version string }{{one, "1.0"}, {two, "2.0"}, {gone, ""}} {
			if k != i%3 && !long() {
				continue
			}
			m.leave(b)
			m.apply(success, c.list+"\npackage \"watcher\" { ensure = \"absent\" }\n")
			m.moodyIs(c.version)
			if m.t.Failed() {
				m.t.Fatalf("so it is from %s to %q", b.name, c.version)
			}
		}
	}
}

// brokenBystander: a package that nobody listed, broken, is finished before
// others change, and that is said.
func brokenBystander(m *machine) {
	for i, b := range breakages() {
		if i%2 == 0 && !long() {
			continue
		}
		m.leave(b)
		m.says(m.apply(success, `package "bystander" {}`),
			"an earlier change of packages was interrupted and is finished first: ")
		m.clean()
		m.apply(success, `package "bystander" { ensure = "absent" }`)
	}
	m.Run(m.t, "dpkg", "--purge", "watcher", "moody")
}

// beyondRepair: where it cannot be finished, nothing else changes and the
// reason is said.
func beyondRepair(m *machine) {
	m.leave(breakages()[1])
	m.Run(m.t, "touch", "/run/fail-postinst")
	o := m.apply(failed, `package "bystander" {}`)
	m.says(o, "moody is half configured", "postinst configure refuses")
	m.want("", "dpkg-query", "-W", "bystander")
	m.apply(success, gone) // which is a cure
	m.moodyIs("")
	m.Run(m.t, "rm", "/run/fail-postinst")

	m.leave(breakages()[3]) // and the package to install again is nowhere
	m.Run(m.t, "sed", "-i", "/^Package: moody$/,/^$/s/^Version: .*/Version: 1.5/", "/var/lib/dpkg/status")
	m.apply(success, one)
	m.moodyIs("1.0")
	m.apply(success, gone)
}
