package accountfile_test

import (
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
)

// TestCompleted: an account whose making was cut short after its first file
// gets its other lines when it is set once more, and only then.
func TestCompleted(t *testing.T) {
	h := mem.New(mem.Options{})
	put := func(file, text string) {
		t.Helper()
		f, err := h.Create(file)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if ok, _ := host.Exists(h, "/etc"); !ok {
		if err := h.Mkdir("/etc", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"} {
		_ = h.Remove(f)
	}
	put("/etc/passwd", "root:x:0:0::/root:/bin/sh\nweb:x:500:501::/srv:/bin/sh\n")
	put("/etc/group", "root:x:0:\nlate:x:502:\nstaff:x:50:web\n")
	put("/etc/shadow", "root:*:1::::::\n")
	put("/etc/gshadow", "root:*::\n")
	db := h.Accounts()
	if err := db.SetGroup(t.Context(), "late", image.Group{Present: true, GID: 502}, false); err != nil {
		t.Fatal(err)
	}
	if err := db.SetUser(t.Context(), "web", image.User{Present: true, UID: 500, Home: "/srv", Shell: "/bin/sh"},
		host.NewUser{OwnGroup: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"late", "web"} {
		g, err := db.Group(name)
		if err != nil || !g.Present || g.Lines["gshadow"] != name+":!::" {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
	u, err := db.User("web")
	if own, _ := db.Group("web"); err != nil || u.UID != 500 || u.GID != own.GID || u.Lines["shadow"] == "" {
		t.Errorf("%+v, %v", u, err)
	}
	if g, _ := db.Group("staff"); len(g.Members) != 1 {
		t.Errorf("the user is no longer in its group: %+v", g)
	}
}
