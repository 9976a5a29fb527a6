package fire

import (
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// addAsking adds a package that asks a question of the highest priority,
// one that reads an answer by itself, and one that waits for a file.
func addAsking(t *testing.T, r *hosts.Repo) {
	r.Add(t, hosts.Deb{
		Name: "asking", Version: "1.0", Depends: "debconf", Control: map[string]string{
			"templates": "Template: asking/colour\nType: string\nDefault: blue\nDescription: Which colour?\n",
			"config":    ". /usr/share/debconf/confmodule\ndb_input critical asking/colour || true\ndb_go",
		},
		Postinst: ". /usr/share/debconf/confmodule\ndb_get asking/colour\necho \"$RET\" >/var/lib/asking\ndb_stop",
	})
	r.Add(t, hosts.Deb{Name: "waiting", Version: "1.0",
		Postinst: "touch /run/waits; while ! test -e /run/go; do sleep 0.05; done"})
	r.Add(t, hosts.Deb{Name: "rude", Version: "1.0",
		Postinst: `printf 'Continue? '; read answer || answer=nobody; echo "$answer" >/var/lib/rude; if (: </dev/tty) 2>/dev/null; then echo a terminal >>/var/lib/rude; fi`})
}

// asking: no package can ask. The default is taken, standard input is at its
// end, and there is no terminal.
func asking(m *machine) {
	m.apply(success, "package \"asking\" {}\npackage \"rude\" {}\n")
	m.want("blue", "cat", "/var/lib/asking")
	m.want("nobody", "cat", "/var/lib/rude")
	m.apply(success, "")
	m.clean()
}
