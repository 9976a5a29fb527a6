package fire

import (
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// addTied adds two packages in two versions that need each other at their own,
// of which one fails when told to, and then may lose what was kept.
func addTied(t *testing.T, r *hosts.Repo) {
	for _, v := range []string{"1.0", "2.0"} {
		r.Add(t, hosts.Deb{Name: "base", Version: v, Files: map[string]string{"/usr/share/base": v + "\n"}})
		r.Add(t, hosts.Deb{
			Name: "client", Version: v, Depends: "base (= " + v + ")", Files: map[string]string{"/usr/share/client": v + "\n"},
			Postinst: "if test -e /run/fail-lose; then rm -f /var/lib/fettle/debs/client_1.0_all.deb; fi; " + fails("postinst",
				v),
		})
	}
}

func tied(version string) string {
	return "package \"base\" { version = \"" + version + "\" }\npackage \"client\" { version = \"" + version + "\" }\n"
}

func (m *machine) tiedAre(version string) {
	m.t.Helper()
	m.clean()
	m.want("ii "+version+"ii "+version, "dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", "base", "client")
	m.want(version+"\n"+version, "cat", "/usr/share/base", "/usr/share/client")
}

// tiedTakenBack: packages that need each other at one version go back together,
// in the run and from a later one, and the one that failed is named.
func tiedTakenBack(m *machine) {
	m.apply(success, tied("1.0"))
	m.Run(m.t, "touch", "/run/fail-postinst-2.0")
	m.only(tied("2.0"))
	m.says(m.fettle(rolledBack, "apply", "--yes", "--on-failure", "undo"), "failed: pkg:client: ",
		"postinst configure refuses", "fettle.hcl:2")
	m.tiedAre("1.0")
	m.Run(m.t, "rm", "/run/fail-postinst-2.0")
	m.apply(success, tied("2.0"))
	m.fettle(success, "rollback", "--yes")
	m.tiedAre("1.0")
	m.fettle(success, "rollback", "--yes", "origin")
	for _, name := range []string{"base", "client"} {
		if got := m.status(name); got != "" && got != "un" {
			m.t.Errorf("%s is %q", name, got)
		}
	}
	m.apply(success, "")
}

// tiedLost: where the old version cannot be had any more, what did not come back
// is named with what to type; when it can be had again, recover brings it back.
func tiedLost(m *machine) {
	m.apply(success, tied("1.0"))
	m.Run(m.t, "touch", "/run/fail-postinst-2.0", "/run/fail-lose")
	deb := filepath.Join(m.archive.Dir(), "client_1.0_all.deb")
	text, err := os.ReadFile(deb)
	if err == nil {
		err = os.Remove(deb)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.only(tied("2.0"))
	o := m.fettle(failed, "apply", "--yes", "--on-failure", "undo")
	m.says(o, "cannot undo pkg:client: ", "to do it by hand: apt-get install --allow-downgrades ", "client=1.0")
	m.told(o)
	m.says(m.fettle(failed, "recover"), "client=1.0")
	if err := os.WriteFile(deb, text, 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.fettle(success, "recover")
	m.tiedAre("1.0")
	m.Run(m.t, "rm", "/run/fail-postinst-2.0", "/run/fail-lose")
	m.fettle(success, "apply", "--yes")
	m.tiedAre("2.0")
	m.apply(success, "")
}
