package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// hostField finds nothing to do on a host with packages, accounts, files,
// links and templates that each tool has brought about itself.
func hostField(s settings, p peers) field {
	tools := []tool{hostLimit()}
	tools = append(tools, fettleHost(s.fettle)...)
	if p.cfengine {
		tools = append(tools, cfHost())
	}
	if p.puppet {
		tools = append(tools, puppetHost())
	}
	if p.ansible {
		tools = append(tools, ansibleHost())
	}
	return field{
		name: "things", title: "mixed host", works: []work{mixedHost}, sizes: []int{hostThings()}, rounds: s.rounds,
		tools: tools,
		place: func(base string, n, i int) place {
			dir := filepath.Join(base, "hosts", strconv.Itoa(i))
			return place{n: n, dir: dir, dest: filepath.Join(dir, "root"), root: filepath.Join(dir, "root")}
		},
		source: func(p place) error {
			if err := mountHost(p.dir); err != nil {
				return err
			}
			return hostSources(p.dest + hostInput + "/files")
		},
		check: func(p place) error { return checkHost(p.dest) },
		heal:  func(place) error { return nil },
	}
}

// input writes a file that a tool on the host reads.
func input(p place, name, text string) error {
	path := filepath.Join(p.dest+hostInput, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// hostLimit looks at everything by hand. The host that it looks at is in the
// state that the checks know, made by hand too.
func hostLimit() tool {
	return tool{
		name:  "limit",
		about: "by hand in Go: read the list of packages and of accounts, lstat all, read and SHA-256 the 60 files",
		prepare: func(p place) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			program, err := os.ReadFile(self)
			if err != nil {
				return err
			}
			if err := os.WriteFile(p.dest+hostInput+"/bench", program, 0o755); err != nil {
				return err
			}
			return makeHost(p.dest)
		},
		command: func(p place, _ work) []string {
			return []string{hostInput + "/bench", "limit", string(mixedHost), "", strconv.Itoa(p.n)}
		},
	}
}

// makeHost writes by hand what checkHost wants.
func makeHost(root string) error {
	for _, d := range hostFolders() {
		if err := os.MkdirAll(root+d, 0o755); err != nil {
			return err
		}
	}
	for i := range hostFiles {
		if err := os.WriteFile(root+hostFile(i), content(i), 0o644); err != nil {
			return err
		}
	}
	for i := range hostTemplates {
		if err := os.WriteFile(root+hostTemplate(i), []byte(hostText(hostVars(i))), 0o644); err != nil {
			return err
		}
	}
	for i := range hostLinks {
		if err := os.Symlink(hostFile(i), root+hostLink(i)); err != nil {
			return err
		}
	}
	accounts, err := os.OpenFile(root+"/etc/passwd", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer accounts.Close()
	for i := range hostAccounts {
		if _, err := fmt.Fprintf(accounts, "%s:x:%d:%d::/nonexistent:/usr/sbin/nologin\n", hostAccount(i), 61000+i,
			61000+i); err != nil {
			return err
		}
	}
	return nil
}

// limitHost is what no tool can leave out.
func limitHost(root string) error {
	if err := checkAccounts(root); err != nil {
		return err
	}
	if err := checkPackages(root); err != nil {
		return err
	}
	for i := range hostFiles {
		if err := digestHostFile(root+hostFile(i), content(i)); err != nil {
			return err
		}
	}
	for i := range hostTemplates {
		if err := digestHostFile(root+hostTemplate(i), []byte(hostText(hostVars(i)))); err != nil {
			return err
		}
	}
	for i := range hostLinks {
		if to, err := os.Readlink(root + hostLink(i)); err != nil || to != hostFile(i) {
			return fmt.Errorf("%s points to %q, %w", hostLink(i), to, err)
		}
	}
	return nil
}

func digestHostFile(path string, want []byte) error {
	if _, err := os.Lstat(path); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err == nil && sha256.Sum256(text) != sha256.Sum256(want) {
		err = fmt.Errorf("%s has wrong content", path)
	}
	return err
}
