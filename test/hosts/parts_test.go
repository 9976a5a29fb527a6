package hosts

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/needs"
)

func TestDebIsAPackage(t *testing.T) {
	d := Deb{
		Name: "web", Version: "1:2.0-1", Depends: "base (>= 2), other", Unit: webUnit, Conffiles: []string{"/etc/web.conf"},
		Files:    map[string]string{"/usr/sbin/web": "#!/bin/sh\n", "/etc/web.conf": "x\n"},
		Fields:   map[string]string{"Conflicts": "httpd"},
		Postinst: "true from test",
	}
	data, err := d.Build()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := d.Build(); !bytes.Equal(data, again) {
		t.Error("two builds differ")
	}
	path := filepath.Join(t.TempDir(), "web.deb")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ argv, want string }{
		{"dpkg-deb --field PATH Package Version Depends Conflicts",
			"Package: web\nVersion: 1:2.0-1\nDepends: base (>= 2), other\nConflicts: httpd\n"},
		{"dpkg-deb --info PATH conffiles", "/etc/web.conf\n"},
		{"dpkg-deb --info PATH postinst", "deb-systemd-invoke $action web.service"},
		{"dpkg-deb --info PATH postinst", "true from test"},
		{"dpkg-deb --contents PATH", "-rwxr-xr-x root/root        10 2025-01-01 00:00 ./usr/sbin/web\n"},
		{"dpkg-deb --contents PATH", "drwxr-xr-x root/root         0 2025-01-01 00:00 ./usr/sbin/\n"},
	} {
		argv := strings.Fields(strings.ReplaceAll(c.argv, "PATH", path))
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(cleanEnv(), "TZ=UTC")
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			needs.Missing(t, "the test needs the program dpkg-deb: this is no Debian machine")
		}
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v\n%swant: %s", c.argv, err, out, c.want)
		}
	}
}

func TestDebRefuses(t *testing.T) {
	for _, d := range []Deb{{}, {Name: "a"}, {Name: "a", Version: "1", Conffiles: []string{"/etc/a"}}} {
		if _, err := d.Build(); err == nil || !strings.HasPrefix(err.Error(), "cannot build ") {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

func TestCompare(t *testing.T) {
	a := Snapshot{"file /a": "1", "file /gone": "x", "mtime /a": "1", "file /var/log/x": "1", "passwd root": "0"}
	b := Snapshot{"file /a": "2", "file /new": "y", "mtime /a": "2", "file /var/log/x": "2", "passwd root": "0"}
	for _, c := range []struct{ allow, want []string }{
		{nil, []string{"~ file /a: 1 -> 2", "- file /gone: x", "+ file /new: y", "~ file /var/log/x: 1 -> 2"}},
		{[]string{"/var/log/**"}, []string{"~ file /a: 1 -> 2", "- file /gone: x", "+ file /new: y"}},
		{[]string{"/var/**", "file /[ag]*"}, []string{"+ file /new: y"}},
		{[]string{"/v"}, []string{"~ file /a: 1 -> 2", "- file /gone: x", "+ file /new: y", "~ file /var/log/x: 1 -> 2"}},
		{[]string{"/a", "/gone", "/new", "/var/log"}, []string{"~ file /var/log/x: 1 -> 2"}},
	} {
		if got := Compare(a, b, c.allow); !slices.Equal(got, c.want) {
			t.Errorf("allow %q: got %q, want %q", c.allow, got, c.want)
		}
	}
	if got := CompareTimes(a, b, nil); !slices.Equal(got, []string{"~ mtime /a: 1 -> 2"}) {
		t.Errorf("times: %q", got)
	}
}

func TestMissingPackagesAreNamed(t *testing.T) {
	got := missingPackages(func(name string) (string, error) {
		if name == "ip" {
			return "/sbin/ip", nil
		}
		return "", exec.ErrNotFound
	})
	want := []string{"apt-utils", "mmdebstrap", "systemd-container", "util-linux"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMachineSources(t *testing.T) {
	etc := t.TempDir()
	if got := machineSources(etc, "bookworm"); got != nil {
		t.Errorf("an empty directory has sources %q", got)
	}
	list := filepath.Join(etc, "sources.list")
	if err := os.WriteFile(list, []byte("deb http://mirror.example/debian bookworm main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := machineSources(etc, "bookworm"); !slices.Equal(got, []string{list}) {
		t.Errorf("got %q", got)
	}
	if got := machineSources(etc, "trixie"); got != nil {
		t.Errorf("another release has sources %q", got)
	}
}

func TestRecipeDigestTellsRecipesApart(t *testing.T) {
	one, two := recipe{suite: Bookworm, pool: []string{"nginx"}}, recipe{suite: Bookworm, pool: []string{"curl"}}
	a, errA := one.digest()
	b, errB := two.digest()
	if err := errors.Join(errA, errB); err != nil || a == b {
		t.Errorf("digests %q and %q, %v", a, b, err)
	}
}
