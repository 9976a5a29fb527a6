package e2e

import (
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// careless is a package that starts units and does not stop them when it is removed, as
// unattended-upgrades 2.9.1 does.
func careless() hosts.Deb {
	const dir = "/usr/lib/systemd/system/"
	return hosts.Deb{
		Name: "careless", Version: "1.0",
		Files: map[string]string{
			dir + "careless.service":       "[Service]\nExecStart=/bin/sleep infinity\n",
			dir + "careless@.service":      "[Service]\nExecStart=/bin/sleep infinity\n",
			dir + "careless-own.service":   "[Service]\nExecStart=/bin/sleep infinity\n",
			dir + "careless-fails.service": "[Service]\nExecStart=/bin/false\n",
			dir + "careless-once.service":  "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\nExecStop=/bin/touch /run/undone\n",
			dir + "careless.timer":         "[Timer]\nOnActiveSec=1h\n",
		},
		Postinst: "systemctl daemon-reload\nsystemctl start careless.service careless@a.service careless-own.service careless-once.service careless.timer\nsystemctl start careless-fails.service || true\n",
		Postrm:   "systemctl daemon-reload\n",
	}
}

// TestUnitsOfRemovedPackages removes a package that leaves its units running or failed: fettle
// stops them, clears the failures, and says so.
func TestUnitsOfRemovedPackages(t *testing.T) { eachRelease(t, unitsOfRemovedPackages) }

func unitsOfRemovedPackages(t *testing.T, r hosts.Release) {
	repo := hosts.NewRepo(t)
	repo.Add(t, careless())
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorldOf(t, r), "left", repo)
	m.WriteFile(t, "/etc/systemd/system/careless-own.service", "[Service]\nExecStart=/bin/sleep infinity\n", 0o644)
	list := "package \"careless\" {}\n"
	there := func() {
		m.write(map[string]string{"fettle.hcl": list})
		m.fettle(success, "apply", "--yes")
		m.want("active\nactive\nactive\nactive\nfailed", "systemctl", "is-active", "careless.service", "careless@a.service",
			"careless-once.service", "careless.timer", "careless-fails.service")
	}
	gone := func(o output) {
		t.Helper()
		m.says(o, "stopped careless.service", "stopped careless@a.service")
		m.want("inactive\ninactive\nactive\ninactive\ninactive", "systemctl", "is-active", "careless.service",
			"careless@a.service", "careless-own.service", "careless.timer", "careless-fails.service")
		m.want("", "sh", "-c", "systemctl --failed --plain --no-legend | grep careless")
		if m.has("/run/undone") {
			t.Error("a service that had done its work was stopped, which undoes that work")
		}
	}
	there()
	gone(m.fettle(success, "rollback", "origin", "--yes"))
	there()
	m.write(map[string]string{"fettle.hcl": "package \"careless\" { ensure = \"absent\" }\n"})
	gone(m.fettle(success, "apply", "--yes"))
	m.write(map[string]string{"fettle.hcl": list +
		"exec \"no\" {\n  command = [\"/bin/false\"]\n  after   = [package.careless]\n}\n"})
	gone(m.fettle(failed, "apply", "--yes", "--on-failure", "undo"))
}
