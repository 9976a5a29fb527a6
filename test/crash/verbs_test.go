package crash

import (
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/test/needs"
)

// The lists hold every verb that works on a root without its own init and
// packages: PKG and UNIT are killed on real hosts.
const verbs1 = `GROUP deploy gid=1600
USER alice uid=1600 group=deploy home=/home/alice create_home=true
COPY key /home/alice/key owner=alice group=deploy mode=0600
COPY conf1 /etc/app.conf
ACT run load /bin/helper load on=file:/etc/app.conf
SYSCTL vm.swappiness value=10
EXEC makedb /bin/helper make /srv/db creates=/srv/db undo="/bin/helper drop /srv/db"
EDIT /etc/hosts line="10.0.0.9 nine"
META /etc/motd mode=0600
CHECK db exec="/bin/helper has /srv/db" within=1s
`

const verbs2 = `GROUP deploy gid=1600
GROUP extra gid=1700
USER alice uid=1600 group=deploy home=/home/alice shell=/bin/bash create_home=true
USER carol uid=1701 group=extra home=/home/carol create_home=true
MEMBER alice adm
COPY key2 /home/alice/key owner=alice group=extra mode=0640
COPY conf2 /etc/app.conf
ACT run load /bin/helper load on=file:/etc/app.conf
SYSCTL vm.swappiness value=20
SYSCTL kernel.panic value=5
EXEC makedb /bin/helper make /srv/db creates=/srv/db undo="/bin/helper drop /srv/db"
EXEC makemore /bin/helper make /srv/more creates=/srv/more undo="/bin/helper drop /srv/more"
EDIT /etc/hosts block=ten content="10.0.0.10 ten\n"
META /etc/motd owner=alice group=deploy
LINK app.conf /etc/app.link
MKDIR /srv/dir owner=carol
RM /etc/gone
CHECK db exec="/bin/helper has /srv/more" within=1s
`

// TestKillEveryVerb is TestKill with accounts, commands, settings and actions.
func TestKillEveryVerb(t *testing.T) {
	needs.Root(t)
	s := newSite(t, verbs1, verbs2, func(s *site) {
		s.free = []string{"/etc/hosts", "/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid",
			"/etc/subgid",
			"/run/loaded", "/srv/db", "/srv/more", "/proc/sys/vm/swappiness",
			"/proc/sys/kernel/panic"} // their time is that of the last who wrote
		for p, text := range map[string]string{
			"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nbob:x:1000:1000::/home/bob:/bin/sh\n",
			"etc/group":  "root:x:0:\nadm:x:4:\nbob:x:1000:\n",
			"etc/shadow": "root:*:1::::::\nbob:*:1::::::\n", "etc/gshadow": "root:*::\nadm:*::\nbob:!::\n",
			"etc/app.conf": "origin", "run/loaded": "origin", "etc/motd": "hello\n", "etc/gone": "gone\n",
			"proc/sys/vm/swappiness": "60\n", "proc/sys/kernel/panic": "0\n", "etc/login.defs": "CREATE_MAIL_SPOOL no\n",
			"lists/key": "key 1", "lists/key2": "key 2", "lists/conf1": "conf 1", "lists/conf2": "conf 2",
		} {
			dir := s.root()
			if name, is := filepath.Split(p); name == "lists/" {
				dir, p = s.lists, is
			}
			full := filepath.Join(dir, p)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range []string{"bin", "home", "etc/skel", "srv"} {
			if err := os.MkdirAll(filepath.Join(s.root(), d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		program(t, filepath.Join(s.root(), "bin/helper"), "./testdata/helper")
	})
	s.killAll(t, "every verb", 9, 15)
}
