package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// What a mixed host has, by number.
const (
	hostAccounts  = 20
	hostFiles     = 50
	hostLinks     = 20
	hostTemplates = 10
)

// hostThings is how many things there are, directories left out.
func hostThings() int {
	return len(hostPackages()) + hostAccounts + hostFiles + hostLinks + hostTemplates
}

// hostPackages are in every Debian: they are declared, looked up, and there.
func hostPackages() []string { return []string{"adduser", "apt", "bash", "coreutils", "grep"} }

// hostInput is where the tools find what they read, below the host's root; it
// is a copy that the machine itself does not have.
const hostInput = "/opt/fettle-bench"

func hostFolders() []string {
	return []string{"/srv/fettle-bench", "/srv/fettle-bench/files", "/srv/fettle-bench/links",
		"/srv/fettle-bench/templates"}
}

func hostAccount(i int) string  { return fmt.Sprintf("fbench%02d", i) }
func hostFile(i int) string     { return fmt.Sprintf("/srv/fettle-bench/files/f%02d", i) }
func hostLink(i int) string     { return fmt.Sprintf("/srv/fettle-bench/links/l%02d", i) }
func hostTemplate(i int) string { return fmt.Sprintf("/srv/fettle-bench/templates/t%02d", i) }

// hostText is the text of the templates: names and ports stand where a
// language has its variables.
func hostText(name, port string) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "server %d %s.example.org:%s\n", i, name, port)
	}
	return b.String()
}

// hostVars are the values of a template's variables.
func hostVars(i int) (name, port string) { return fmt.Sprintf("web%02d", i), strconv.Itoa(8000 + i) }

// hostSources writes the sources of the files below a directory.
func hostSources(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range hostFiles {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d", i)), content(i), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// checkHost compares a host with what it should be.
func checkHost(root string) error {
	if err := checkAccounts(root); err != nil {
		return err
	}
	if err := checkPackages(root); err != nil {
		return err
	}
	for i := range hostFiles {
		if err := checkHostFile(root, hostFile(i), content(i)); err != nil {
			return err
		}
	}
	for i := range hostTemplates {
		if err := checkHostFile(root, hostTemplate(i), []byte(hostText(hostVars(i)))); err != nil {
			return err
		}
	}
	for i := range hostLinks {
		to, err := os.Readlink(root + hostLink(i))
		if err != nil {
			return err
		}
		if to != hostFile(i) {
			return fmt.Errorf("%s points to %s", hostLink(i), to)
		}
	}
	return nil
}

func checkHostFile(root, path string, want []byte) error {
	info, err := os.Lstat(root + path)
	if err != nil {
		return err
	}
	got, err := os.ReadFile(root + path)
	if err != nil {
		return err
	}
	if info.Mode() != 0o644 || !bytes.Equal(got, want) {
		return fmt.Errorf("%s, mode %s, has wrong content or mode", path, info.Mode())
	}
	return nil
}

// checkAccounts reads the accounts as login would.
func checkAccounts(root string) error {
	text, err := os.ReadFile(root + "/etc/passwd")
	if err != nil {
		return err
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if strings.HasPrefix(f[0], "fbench") && len(f) == 7 && f[5] == "/nonexistent" && f[6] == "/usr/sbin/nologin" {
			found++
		}
	}
	if found != hostAccounts {
		return fmt.Errorf("there are %d accounts as they should be, not %d", found, hostAccounts)
	}
	return nil
}

// checkPackages reads the whole list of packages.
func checkPackages(root string) error {
	f, err := os.Open(root + "/var/lib/dpkg/status")
	if err != nil {
		return err
	}
	defer f.Close()
	name, missing := "", hostPackages()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if pkg, ok := strings.CutPrefix(lines.Text(), "Package: "); ok {
			name = pkg
		}
		if lines.Text() == "Status: install ok installed" {
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
		}
	}
	if len(missing) > 0 {
		return errors.Join(lines.Err(), fmt.Errorf("%s is not installed", missing[0]))
	}
	return lines.Err()
}
