package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// TestDependenciesOfPackages: what came along with a package goes along with it as apt
// autoremove decides, but for what the list wants, and what an administrator marked, held or
// needs. The plan names each. What no step names never goes.
func TestDependenciesOfPackages(t *testing.T) {
	eachRelease(t, func(t *testing.T, r hosts.Release) {
		repo := hosts.NewRepo(t)
		repo.Add(t, hosts.Deb{Name: "demolib", Version: "1"})
		repo.Add(t, hosts.Deb{Name: "demodata", Version: "1"})
		repo.Add(t, hosts.Deb{Name: "demoapp", Version: "1", Depends: "demolib, demodata"})
		repo.Add(t, hosts.Deb{Name: "theirs", Version: "1", Depends: "demolib"})
		repo.Add(t, hosts.Deb{Name: "oldmail", Version: "1"})
		repo.Add(t, hosts.Deb{Name: "newmail", Version: "1", Fields: map[string]string{"Conflicts": "oldmail"}})
		repo.Publish(t)
		m := newMachine(t, hosts.NewWorldOf(t, r), "along", repo)
		m.Run(t, "mkdir", "-p", repository)
		write := func(text string) { m.write(map[string]string{"fettle.hcl": "", "list.steps": text}) }
		apply := func(code int, text string) output {
			write(text)
			return m.fettle(code, "steps", "apply", "list.steps", "--yes")
		}
		there := func(want string) {
			t.Helper()
			var is []string
			for _, name := range []string{"demoapp", "demodata", "demolib", "theirs"} {
				if status := m.Exec("dpkg-query", "-W", "-f", "${db:Status-Abbrev}", name).Stdout; len(status) > 1 &&
					status[1] == 'i' {
					is = append(is, name)
				}
			}
			if got := strings.Join(is, " "); got != want {
				t.Errorf("installed: %q, want %q", got, want)
			}
		}
		apply(success, "PKG demoapp\n")
		write("PKG demolib\n")
		m.says(m.fettle(changes, "steps", "plan", "list.steps"), "demodata is also removed",
			"stays: demolib: it is in the list")
		apply(success, "PKG demolib\n")
		there("demolib")
		m.want("demolib", "apt-mark", "showmanual", "demolib")
		m.fettle(success, "drift")
		m.says(m.fettle(success, "rollback", "--yes"), "demodata 1 is installed again", "demoapp needs it, so it stays")
		there("demoapp demodata demolib")

		m.Run(t, "apt-mark", "manual", "demodata")
		write("")
		m.says(m.fettle(changes, "steps", "plan", "list.steps"), "stays: demodata: it is marked as installed manually")
		m.fettle(success, "rollback", "origin", "--yes")
		there("demodata")
		m.Run(t, "apt-get", "-y", "remove", "demodata")

		apply(success, "PKG demoapp\n")
		m.Run(t, "apt-mark", "hold", "demodata")
		m.Run(t, "apt-get", "-y", "install", "theirs")
		write("")
		m.says(m.fettle(changes, "steps", "plan", "list.steps"), "stays: demodata: it is held",
			"stays: demolib: needed by theirs")
		apply(success, "")
		there("demodata demolib theirs")

		m.says(apply(failed, "PKG demolib ensure=absent\n"), "apt would also remove theirs", "demolib")
		there("demodata demolib theirs")
		m.Run(t, "apt-mark", "unhold", "demodata")
		m.Run(t, "apt-get", "-y", "autoremove", "--purge", "demodata", "theirs")

		apply(success, "PKG demoapp\nPKG demolib\n")
		m.Run(t, "apt-mark", "hold", "demoapp")
		write("")
		m.says(m.fettle(success, "steps", "plan", "list.steps"), "an administrator holds it at 1, so it stays",
			"apt-mark unhold demoapp")
		m.says(apply(success, ""), "demoapp needs it, so it stays")
		there("demoapp demodata demolib")
		m.says(apply(failed, "PKG demoapp ensure=absent\n"), "An administrator holds demoapp at version 1",
			"apt-mark unhold demoapp")
		m.says(m.fettle(failed, "rollback", "origin", "--yes"), "An administrator holds demoapp at version 1")
		m.fettle(failed, "rollback", "origin", "--yes", "--skip-blocked")
		there("demoapp demodata demolib")
		m.Run(t, "apt-mark", "unhold", "demoapp")
		apply(success, "")
		there("")

		apply(success, "PKG demolib\n")
		m.Run(t, "apt-get", "-y", "install", "theirs")
		m.Run(t, "apt-mark", "hold", "theirs")
		m.says(apply(failed, "PKG demodata\n"), "apt would also remove theirs")
		there("demodata demolib theirs")
		apply(success, "PKG demolib\n")
		m.says(m.fettle(failed, "rollback", "origin", "--yes"), "apt would also remove theirs")
		there("demolib theirs")
		m.fettle(failed, "rollback", "origin", "--yes", "--skip-blocked")
		there("demolib theirs")
		m.fettle(success, "steps", "apply", "list.steps", "--yes")
		m.Run(t, "apt-mark", "unhold", "theirs")
		m.Run(t, "apt-get", "-y", "remove", "theirs")

		m.Run(t, "apt-get", "-y", "install", "oldmail")
		m.Run(t, "apt-mark", "auto", "oldmail")
		m.says(apply(success, "PKG demolib\nPKG newmail\n"),
			"apt removes oldmail, which conflicts with it; a rollback of this run installs it again", "apt removed oldmail")
		m.says(m.fettle(success, "rollback", "--yes"), "oldmail 1 is installed again")
		m.want("ii  1 oldmail", "sh", "-c",
			"dpkg-query -W -f '${db:Status-Abbrev} ${Version} ${Package}' oldmail; apt-mark showauto oldmail | grep -q oldmail")
		m.says(apply(failed, "PKG demolib\nPKG oldmail\nPKG newmail\n"), "conflict")
		apply(success, "PKG demolib\nPKG oldmail\n")
		m.says(apply(failed, "PKG demolib\nPKG oldmail\nPKG newmail\n"),
			"apt would remove oldmail, which is also in the list")
	})
}
