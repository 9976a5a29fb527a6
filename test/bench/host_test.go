package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plainHost is a root with the packages and what makeHost makes.
func plainHost(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	var status strings.Builder
	for _, name := range hostPackages() {
		status.WriteString("Package: " + name + "\nStatus: install ok installed\nVersion: 1\n\n")
	}
	for path, text := range map[string]string{"/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
		"/var/lib/dpkg/status": status.String()} {
		if err := os.MkdirAll(filepath.Dir(root+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeHost(root); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestCheckHost: whatever is not as declared is seen, by the check and by the
// limit, which has to look at it.
func TestCheckHost(t *testing.T) {
	replace := func(path, old, text string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) {
			was, err := os.ReadFile(root + path)
			if err != nil || !strings.Contains(string(was), old) {
				t.Fatalf("%q, %v", was, err)
			}
			if err := os.WriteFile(root+path, []byte(strings.Replace(string(was), old, text, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(path string) func(t *testing.T, root string) {
		return func(t *testing.T, root string) {
			if err := os.Remove(root + path); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]func(t *testing.T, root string){
		"an account too few": replace("/etc/passwd", "fbench07:", "other:"),
		"another shell":      replace("/etc/passwd", "nologin", "login"),
		"a package went":     replace("/var/lib/dpkg/status", "install ok installed", "deinstall ok config-files"),
		"another file":       replace(hostFile(49), "file", "FILE"),
		"another template":   replace(hostTemplate(9), "web09", "web08"),
		"no file":            remove(hostFile(0)),
		"no link":            remove(hostLink(19)),
		"a link to another file": func(t *testing.T, root string) {
			remove(hostLink(3))(t, root)
			symlink(t, hostFile(4), root+hostLink(3))
		},
	}
	if root := plainHost(t); checkHost(root) != nil || limitHost(root) != nil {
		t.Fatalf("as it should be: %v, %v", checkHost(root), limitHost(root))
	}
	for what, spoil := range cases {
		root := plainHost(t)
		spoil(t, root)
		if checkHost(root) == nil {
			t.Errorf("%s passes", what)
		}
		if limitHost(root) == nil {
			t.Errorf("%s: the limit did not look", what)
		}
	}
	root := plainHost(t)
	if err := os.Chmod(root+hostFile(5), 0o600); err != nil {
		t.Fatal(err)
	}
	if checkHost(root) == nil {
		t.Error("another mode passes")
	}
}

func symlink(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}
