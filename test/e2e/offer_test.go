package e2e

import (
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// TestPlanAsksApt: a plan knows versions and what comes along, and refuses what apt does not
// know, unless an earlier step changes what apt offers.
func TestPlanAsksApt(t *testing.T) {
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.Add(t, hosts.Deb{Name: "weblib", Version: "1"})
	repo.Add(t, hosts.Deb{Name: "webserver", Version: "1.0", Depends: "weblib"})
	repo.Add(t, hosts.Deb{Name: "webserver", Version: "2.0", Depends: "weblib"})
	repo.Publish(t)
	m := newMachine(t, hosts.NewWorld(t), "offers", repo)
	m.Run(t, "mkdir", "-p", repository)
	plan := func(code int, text string) output {
		m.write(map[string]string{"fettle.hcl": "", "list.steps": text})
		return m.fettle(code, "steps", "plan", "list.steps")
	}
	m.says(plan(changes, "PKG webserver\n"), "version 2.0", "with it apt installs 1 dependency")
	m.says(plan(changes, "PKG webserver version=1.0\n"), "version 1.0")
	m.says(plan(failed, "PKG webservr\n"), "This package cannot be installed", `apt knows no package "webservr"`,
		`Did you mean "webserver"?`)
	m.says(plan(failed, "PKG webserver version=3.0\n"), `apt knows no version 3.0 of package "webserver"`,
		"apt knows 2.0 and 1.0")
	m.says(plan(changes, "MKDIR /etc/apt/keyrings mode=0750\nPKG webservr\n"), "known after apply",
		"file:/etc/apt/keyrings may change the versions in apt")
	m.Run(t, "sh", "-c", "rm -rf /var/lib/apt/lists/*")
	m.says(plan(changes, "PKG webserver\n"), "no package lists")
}
