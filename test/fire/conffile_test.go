package fire

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// addConffiles adds packages whose conffile changes from 1.0 to 2.0, or stays.
func addConffiles(t *testing.T, r *hosts.Repo) {
	for _, name := range []string{"plain-same", "plain-new", "edited-same", "edited-new", "deleted-same", "deleted-new",
		"owned", "taken"} {
		for _, v := range []string{"1.0", "2.0"} {
			text := "default\n"
			if name[len(name)-4:] != "same" {
				text = "default of " + v + "\n"
			}
			conf := "/etc/" + name + ".conf"
			r.Add(t, hosts.Deb{Name: name, Version: v, Files: map[string]string{conf: text}, Conffiles: []string{conf}})
		}
	}
}

// conffiles is the table of what an upgrade does to a conffile: edited here or
// not, by whether the package brings another. Nobody is ever asked.
func conffiles(m *machine) {
	list := func(version string) (out string) {
		for _, name := range []string{"plain-same", "plain-new", "edited-same", "edited-new", "deleted-same", "deleted-new"} {
			out += fmt.Sprintf("package %q { version = %q }\n", name, version)
		}
		return out
	}
	m.apply(success, list("1.0"))
	m.Run(m.t, "sh", "-c",
		"echo mine | tee /etc/edited-same.conf >/etc/edited-new.conf; rm /etc/deleted-same.conf /etc/deleted-new.conf")
	o := m.apply(success, list("2.0"))
	for name, want := range map[string]string{
		"plain-same": "default", "plain-new": "default of 2.0", "edited-same": "mine", "edited-new": "mine",
		"edited-new.conf.dpkg-dist": "default of 2.0", "deleted-same": "", "deleted-new": "",
		"deleted-new.conf.dpkg-dist": "default of 2.0",
	} {
		if len(name) < 12 {
			name += ".conf"
		}
		m.want(want, "cat", "/etc/"+name)
	}
	m.says(o, "/etc/edited-new.conf stays as it was edited here", "/etc/edited-new.conf.dpkg-dist",
		"/etc/deleted-new.conf stays deleted")
	m.clean()
	m.fettle(success, "plan")
	m.apply(success, "")
}

// conffileManaged: a conffile that the list has is as the list says, before and
// after an upgrade, whoever wrote it first.
func conffileManaged(m *machine) {
	list := func(version, text string) string {
		return fmt.Sprintf(`
package "owned" { version = %q }
file "/etc/owned.conf" {
  content = "%s\n"
  after   = [package.owned]
}
file "first" {
  path    = "/etc/taken.conf"
  content = "%s\n"
  before  = [package.taken]
}
package "taken" { version = %q }
`, version, text, text, version)
	}
	for _, version := range []string{"1.0", "2.0"} {
		m.apply(success, list(version, "managed "+version))
		m.want("managed "+version, "cat", "/etc/owned.conf")
		m.want("managed "+version, "cat", "/etc/taken.conf")
		m.fettle(success, "plan")
		m.fettle(success, "drift")
	}
	m.fettle(success, "rollback", "--yes")
	m.want("managed 1.0", "cat", "/etc/owned.conf")
	m.want("managed 1.0", "cat", "/etc/taken.conf")
	m.clean()
	m.apply(success, "")
	// A removed package keeps its configuration file, and dpkg what it wrote beside it.
	m.want("/etc/owned.conf\n/etc/owned.conf.dpkg-dist\n/etc/taken.conf.dpkg-dist", "sh", "-c",
		"ls /etc/owned.conf* /etc/taken.conf*")
	m.want("default of 1.0", "cat", "/etc/owned.conf")
	m.Run(m.t, "dpkg", "--purge", "owned", "taken")
	m.want("", "sh", "-c", "ls /etc/owned.conf* /etc/taken.conf* 2>/dev/null")
}
