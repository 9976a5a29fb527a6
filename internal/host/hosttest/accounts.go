package hosttest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// accountFiles is a small system with features that editors of these files often break: comments, a
// custom order, and administrators of groups.
func accountFiles() map[string]string {
	return map[string]string{
		"/etc/passwd":  "root:x:0:0:root:/root:/bin/bash\n# people\nbob:x:1000:1000:Bob,,,:/home/bob:/bin/sh\nwww:x:33:33::/var/www:/usr/sbin/nologin\n",
		"/etc/shadow":  "root:*:19000:0:99999:7:::\nbob:$y$secret:19000:0:99999:7:::\nwww:!:19000:0:99999:7:::\n",
		"/etc/group":   "root:x:0:\nadm:x:4:www,bob,root\nbob:x:1000:\nwww:x:33:bob\n",
		"/etc/gshadow": "root:*::\nadm:*:bob:www,bob,root\nbob:!::\nwww:!::bob\n",
		"/etc/subuid":  "bob:100000:65536\nwww:165536:65536\nbob:900000:10\n",
		"/etc/subgid":  "bob:100000:65536\nwww:165536:65536\n",
	}
}

func (s suite) accounts(t *testing.T) {
	h := s.open(t)
	must(t, h.Mkdir("/etc", 0o755))
	for name, content := range accountFiles() {
		write(t, h, name, content)
	}
	chmod(t, h, "/etc/shadow", 0o640)
	a := h.Accounts()
	readAccounts(t, a)
	made := image.User{Present: true, UID: 1234, GID: 33, Comment: "New", Home: "/srv/new", Shell: "/bin/sh"}
	cases := map[string]func() error{
		"make user": func() error { return a.SetUser(t.Context(), "new", made, host.NewUser{}) },
		"make own group": func() error {
			return a.SetUser(t.Context(), "new", made,
				host.NewUser{AutoUID: true, OwnGroup: true})
		},
		"make system": func() error {
			return a.SetUser(t.Context(), "new", image.User{Present: true}, host.NewUser{AutoUID: true, System: true})
		},
		"remove user": func() error { return a.SetUser(t.Context(), "bob", image.User{}, host.NewUser{}) },
		"change user": func() error {
			return a.SetUser(t.Context(), "bob", image.User{Present: true, UID: 1000, GID: 33, Comment: "B",
				Shell: "/bin/bash"}, host.NewUser{})
		},
		"make group": func() error {
			return a.SetGroup(t.Context(), "ops", image.Group{Present: true, GID: 77, Members: []string{"bob"}}, false)
		},
		"make auto group": func() error { return a.SetGroup(t.Context(), "ops", image.Group{Present: true}, true) },
		"change group":    func() error { return a.SetGroup(t.Context(), "adm", image.Group{Present: true, GID: 5}, false) },
		"remove group":    func() error { return a.SetGroup(t.Context(), "adm", image.Group{}, false) },
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) { roundTrip(t, h, cases[name]) })
	}
	t.Run("member", func(t *testing.T) { memberships(t, h) })
	t.Run("refused", func(t *testing.T) { refusedAccounts(t, h) })
}

func chmod(t *testing.T, h host.Host, path string, mode uint32) {
	t.Helper()
	n, err := h.OpenNode(path)
	must(t, err)
	must(t, errors.Join(n.Chmod(mode), n.Close()))
}

func readAccounts(t *testing.T, a host.Accounts) {
	u, err := a.User("bob")
	if err != nil || !u.Present || u.UID != 1000 || u.GID != 1000 || u.Comment != "Bob,,," || u.Home != "/home/bob" ||
		u.Shell != "/bin/sh" {
		t.Errorf("User(bob) = %+v, %v", u, err)
	}
	if u.Lines["shadow"] != "bob:$y$secret:19000:0:99999:7:::" {
		t.Errorf("the shadow line is not kept")
	}
	g, err := a.Group("adm")
	if err != nil || !g.Present || g.GID != 4 || !slices.Equal(g.Members, []string{"www", "bob", "root"}) {
		t.Errorf("Group(adm) = %+v, %v", g, err)
	}
	for _, name := range []string{"nobody-here", "people", "#"} {
		if u, err := a.User(name); err != nil || u.Present {
			t.Errorf("User(%q) = %+v, %v", name, u, err)
		}
	}
}

// everyAccount returns the input of undo: the images of all names in use.
func everyAccount(t *testing.T, a host.Accounts) (map[string]image.User, map[string]image.Group) {
	users, groups := map[string]image.User{}, map[string]image.Group{}
	for _, name := range []string{"new", "bob"} {
		u, err := a.User(name)
		must(t, err)
		users[name] = u
	}
	for _, name := range []string{"ops", "adm"} {
		g, err := a.Group(name)
		must(t, err)
		groups[name] = g
	}
	return users, groups
}

// roundTrip: do, do again (nothing changes), undo; the files are as before.
func roundTrip(t *testing.T, h host.Host, do func() error) {
	a := h.Accounts()
	users, groups := everyAccount(t, a)
	must(t, do())
	after := contents(t, h)
	if maps.Equal(after, accountFiles()) {
		t.Error("nothing changed")
	}
	ino := lstat(t, h, "/etc/passwd").Ino
	must(t, do())
	if again := contents(t, h); !maps.Equal(after, again) {
		t.Errorf("doing it twice changed the files:\n%v\n%v", after, again)
	}
	if lstat(t, h, "/etc/passwd").Ino != ino {
		t.Error("doing it twice wrote a file")
	}
	for range 2 {
		for _, name := range []string{"new", "bob"} {
			must(t, a.SetUser(context.Background(), name, users[name], host.NewUser{}))
		}
		for _, name := range []string{"ops", "adm"} {
			must(t, a.SetGroup(context.Background(), name, groups[name], false))
		}
		asBefore(t, h)
	}
}

func asBefore(t *testing.T, h host.Host) {
	t.Helper()
	now := contents(t, h)
	for name, want := range accountFiles() {
		if now[name] != want {
			t.Errorf("%s after undo:\n%s\nwant:\n%s", name, now[name], want)
		}
	}
	if st := lstat(t, h, "/etc/shadow"); st.Mode != 0o640 {
		t.Errorf("shadow has mode %o", st.Mode)
	}
}

func contents(t *testing.T, h host.Host) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name := range accountFiles() {
		out[name] = read(t, h, name)
	}
	return out
}

func memberships(t *testing.T, h host.Host) {
	a := h.Accounts()
	set := func(user, group string, on bool) {
		t.Helper()
		must(t, a.SetMember(t.Context(), user, group, on))
	}
	set("www", "bob", true)
	set("www", "bob", true)
	if g, err := a.Group("bob"); err != nil || !slices.Equal(g.Members, []string{"www"}) {
		t.Errorf("members are %q, %v", g.Members, err)
	}
	set("www", "bob", false)
	set("www", "bob", false)
	set("bob", "adm", true)
	set("www", "no-such-group", false)
	asBefore(t, h)
	for _, pair := range [][2]string{{"nobody-here", "adm"}, {"bob", "no-such-group"}} {
		if err := a.SetMember(t.Context(), pair[0], pair[1], true); err == nil {
			t.Errorf("%s became a member of %s", pair[0], pair[1])
		}
	}
}

func refusedAccounts(t *testing.T, h host.Host) {
	a := h.Accounts()
	for _, name := range []string{"", "-r", "a:b", "a\nb", "a,b", "a b", "a/b"} {
		if err := a.SetUser(t.Context(), name, image.User{Present: true, UID: 7}, host.NewUser{}); err == nil {
			t.Errorf("user %q was made", name)
		}
		if err := a.SetGroup(t.Context(), name, image.Group{Present: true, GID: 7}, false); err == nil {
			t.Errorf("group %q was made", name)
		}
	}
	for _, u := range []image.User{{Present: true, UID: 7, Comment: "a:b"}, {Present: true, UID: 7, Home: "/a\nb"},
		{Present: true, UID: 33, GID: 33}} {
		if err := a.SetUser(t.Context(), "new", u, host.NewUser{}); err == nil {
			t.Errorf("%+v was made", u)
		}
	}
	if err := a.SetGroup(t.Context(), "www", image.Group{}, false); err == nil {
		t.Error("a primary group was removed")
	}
	asBefore(t, h)
}
