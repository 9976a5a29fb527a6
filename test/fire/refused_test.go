package fire

import (
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// addForeign adds a package of another architecture.
func addForeign(t *testing.T, r *hosts.Repo) {
	r.Add(t, hosts.Deb{Name: "stranger", Version: "1.0", Arch: "armhf",
		Files: map[string]string{"/usr/share/stranger": "armhf\n"}})
}

// unchanged demands that a refusal changed no package.
func (m *machine) unchanged(list string, texts ...string) {
	m.t.Helper()
	before := m.Run(m.t, "dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev} ${Version}\n")
	m.says(m.apply(failed, list), texts...)
	if after := m.Run(m.t, "dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev} ${Version}\n"); after != before {
		m.t.Errorf("what was refused has changed packages:\n%s\n%s", before, after)
	}
	m.clean()
}

// held: what somebody holds on the machine stays, unless the list says that it
// is not held.
func held(m *machine) {
	m.apply(success, one)
	m.Run(m.t, "apt-mark", "hold", "moody")
	m.unchanged(two, "An administrator holds moody at version 1.0", "apt-mark unhold moody", "held = false")
	m.unchanged(gone, "An administrator holds moody at version 1.0", "apt-mark unhold moody")
	m.apply(success, "package \"moody\" {\n  version = \"2.0\"\n  held = false\n}\n")
	for _, version := range []string{"1.0", "2.0"} { // a hold of the list's own is no obstacle
		m.apply(success, "package \"moody\" {\n  version = \""+version+"\"\n  held = true\n}\n")
	}
	m.want("hi 2.0", "dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", "moody")
	m.apply(success, "package \"moody\" {\n  version = \"1.0\"\n  held = false\n}\n")
	m.moodyIs("1.0")
	m.apply(success, gone)
	m.apply(success, "")
}

// essential: what the system cannot do without is never removed, neither when
// it is named nor when it would go along.
func essential(m *machine) {
	m.unchanged(`package "hostname" { ensure = "absent" }`, "Essential packages",
		"fettle does not remove essential packages")
	m.unchanged(`package "libc6" { ensure = "absent" }`, "pkg:libc6: cannot change packages")
}

// noSuchPackage: mistakes in names and versions are told with what there is.
func noSuchPackage(m *machine) {
	m.unchanged(`package "modi" {}`, `apt knows no package "modi"`, `Did you mean "moody"?`)
	m.unchanged(`package "moody" { version = "3.0" }`, `apt knows no version 3.0 of package "moody"`,
		"apt knows 2.0 and 1.0")
	m.unchanged("package \"bystander\" {}\npackage \"no-such-thing\" {}\n", `apt knows no package "no-such-thing"`,
		"fettle.hcl:2")
}

// foreign: packages of another architecture have names of their own.
func foreign(m *machine) {
	m.unchanged(`package "stranger:armhf" {}`, "pkg:stranger:armhf: ", "does not match system")
	m.Run(m.t, "dpkg", "--add-architecture", "armhf")
	m.update()
	m.apply(success, `package "stranger:armhf" {}`)
	m.fettle(success, "plan")
	m.fettle(success, "drift")
	m.want("armhf", "cat", "/usr/share/stranger")
	m.apply(success, "")
	m.want("", "dpkg-query", "-W", "stranger")
	m.Run(m.t, "dpkg", "--remove-architecture", "armhf")
	m.update()
}
