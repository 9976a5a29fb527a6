package fact

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const idA, idB, idC = "0123456789abcdef0123456789abcdef", "1123456789abcdef0123456789abcdef",
	"2123456789abcdef0123456789abcdef"

// The guests are sorted by name. A registered guest is running, another with a root is stopped. Other entries of the
// directories are not guests.
func TestGuests(t *testing.T) {
	files := map[string]string{
		"/etc/machine-id":                                         idC + "\n",
		"/run/systemd/container":                                  "systemd-nspawn\n",
		"/var/lib/machines/web/etc/machine-id":                    idA + "\n",
		"/var/lib/machines/db/etc/machine-id":                     idB + "\n",
		"/var/lib/machines/new/etc/machine-id":                    "",
		"/var/lib/machines/old/usr/bin/dpkg":                      "",
		"/var/lib/machines/disk.raw":                              "x",
		"/var/lib/machines/note.txt":                              "x",
		"/var/lib/machines/link":                                  "-> web",
		"/var/lib/machines/.hidden/etc/x":                         "",
		"/var/lib/machines/a..b/etc/x":                            "",
		"/var/lib/machines/" + strings.Repeat("x", 65) + "/etc/x": "",
		"/etc/systemd/nspawn/web.nspawn":                          "[Exec]\n",
		"/etc/systemd/nspawn/planned.nspawn":                      "[Exec]\n",
		"/etc/systemd/nspawn/README":                              "",
		"/run/systemd/machines/db":                                "# private\nNAME=db\nID=" + idC + "\n",
		"/run/systemd/machines/kvm1":                              "NAME=kvm1\n",
		"/run/systemd/machines/unit:db.scope":                     "-> db",
		"/run/systemd/machines/bad\x1b[2Jname":                    "NAME=x\n",
	}
	p, ok, err := PlaceOf(fake{root: "/", files: files})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	want := Place{Machine: machineName(idC), Container: "systemd-nspawn", Guests: []Guest{
		{"db", GuestRunning, machineName(idC)}, {"disk", GuestStopped, ""}, {"kvm1", GuestRunning, ""},
		{"new", GuestStopped, ""}, {"old", GuestStopped, ""}, {"planned", GuestMissing, ""},
		{"web", GuestStopped, machineName(idA)}}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%+v", p)
	}
	got := show(t, fakeSource("/", files), "guests")
	if !strings.Contains(got, `"web":cty.StringVal("stopped")`) || strings.Contains(got, "bad") {
		t.Error(got)
	}
}

// A guest with links instead of its files has no machine ID, because a link can lead to the files of the host.
func TestGuestsWithLinks(t *testing.T) {
	files := map[string]string{
		"/etc/machine-id":                      idC + "\n",
		"/var/lib/machines/a/etc":              "-> ../../../../etc",
		"/var/lib/machines/a/etc/machine-id":   idC + "\n",
		"/var/lib/machines/b/etc/machine-id":   "-> /etc/machine-id",
		"/var/lib/machines/c/etc/machine-id/x": "",
	}
	p, _, err := PlaceOf(fake{root: "/", files: files})
	if err != nil || len(p.Guests) != 3 {
		t.Fatal(p, err)
	}
	for _, g := range p.Guests {
		if g.Machine != "" {
			t.Errorf("%+v", g)
		}
	}
}

// The number of guests is bounded. Directories that cannot be read are an error, not a host without guests. The fact is
// null then. An image has no guests.
func TestBoundsOfGuests(t *testing.T) {
	files := map[string]string{}
	for i := range MaxGuests + 5 {
		files[fmt.Sprintf("/var/lib/machines/g%04d/etc/x", i)] = ""
	}
	p, _, err := PlaceOf(fake{root: "/", files: files})
	if err != nil || len(p.Guests) != MaxGuests || p.More != 5 || p.Guests[0].Name != "g0000" {
		t.Error(len(p.Guests), p.More, err)
	}
	if v, err := guests(newSource(fake{root: "/", files: files, fail: "/var/lib/machines"})); err != nil || !v.IsNull() {
		t.Error(v, err)
	}
	if _, ok, err := PlaceOf(fake{root: "/", files: files, fail: "/var/lib/machines"}); ok || err == nil {
		t.Error(ok, err)
	}
	if _, ok, err := PlaceOf(fake{root: "/mnt", files: files}); ok || err != nil {
		t.Error(ok, err)
	}
}
