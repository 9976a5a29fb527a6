package modules

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root = "../.."
	list = root + "/docs/modules.md"
	// most is how many modules besides our own may be linked. The one program is hub,
	// agent and command line, so this is the hub's bound.
	most = 60
)

var update = flag.Bool("update", false, "write docs/modules.md anew; look at the difference as at code")

// linked is one module whose code is in the program.
type linked struct{ path, version, directory string }

// modules lists what is linked into the program as make build builds it.
func modules(t *testing.T) []linked {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{.Path}} {{.Version}} {{.Dir}}{{end}}", "./cmd/fettle")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var found []linked
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 3 { // our own has no version
			found = append(found, linked{f[0], f[1], f[2]})
		}
	}
	slices.SortFunc(found, func(a, b linked) int { return cmp.Compare(a.path, b.path) })
	return slices.Compact(found)
}

// licences are those that we know how to live with, each by words that no
// other has.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "Mozilla Public License, version 2.0"},
	{"MIT", "to use, copy, modify, merge, publish, distribute, sublicense"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived"},
	{"public domain", "All of the code and documentation in SQLite has been dedicated to the public domain"},
	{"BSD-2-Clause", "THIS SOFTWARE IS PROVIDED"}, // what remains of those with a disclaimer
}

var (
	fileName = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-.].*)?$`)
	spdx     = regexp.MustCompile(`SPDX-License-Identifier: (.+?)( \*/)?\n`)
)

// licence names the licences of a module, and is empty where one is missing or
// unknown.
func licence(t *testing.T, directory string) string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if !fileName.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(directory, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), "-LOGO") {
			continue // of a picture, which is not linked
		}
		name := recognise(text)
		if name == "" {
			return ""
		}
		out = append(out, name)
	}
	return strings.Join(out, " and ")
}

func recognise(text []byte) string {
	if m := spdx.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	plain := string(bytes.Join(bytes.Fields(text), []byte(" ")))
	for _, l := range licences {
		if strings.Contains(plain, l.words) {
			return l.name
		}
	}
	return ""
}

const head = `# Modules

These modules of other authors are linked into the binary. A test compares this list with the
binary: it fails if a module is missing here, or if a licence has changed. The versions are in
` + "`go.mod`" + `.

| module | licence |
|---|---|
`

// TestModules: what is linked is what is listed, and not too much.
func TestModules(t *testing.T) {
	found := modules(t)
	if len(found) == 0 || len(found) > most {
		t.Errorf("%d modules are linked, the most is %d", len(found), most)
	}
	text := head
	for _, m := range found {
		name := licence(t, m.directory)
		if name == "" {
			t.Errorf("%s has no licence that is known here; look at %s", m.path, m.directory)
		}
		text += fmt.Sprintf("| `%s` | %s |\n", m.path, name)
	}
	if *update {
		if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if !strings.Contains(string(have), line) {
			t.Errorf("docs/modules.md lacks %q: is the module worth it? Then write the list anew with -update",
				strings.TrimSpace(line))
		}
	}
	for line := range strings.Lines(string(have)) {
		if !strings.Contains(text, line) {
			t.Errorf("docs/modules.md says what is not so: %q; write it anew with -update", strings.TrimSpace(line))
		}
	}
}

// TestLicences: a licence is known by its words, and no other passes for it.
func TestLicences(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n  Version 2.0, January 2004":                                                       "Apache-2.0",
		"Mozilla Public License,\nversion 2.0":                                                              "MPL-2.0",
		"rights\nto use, copy, modify, merge, publish, distribute, sublicense, and/or sell":                 "MIT",
		"nor the names\nmay be used to endorse or promote products derived from\nTHIS SOFTWARE IS PROVIDED": "BSD-3-Clause",
		"must retain the above copyright\nTHIS SOFTWARE IS PROVIDED BY":                                     "BSD-2-Clause",
		"/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */\nGNU":                                  "BSD-3-Clause OR GPL-2.0-only",
		"GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007":                                               "",
		"Business Source License 1.1":                                                                       "",
		"":                                                                                                  "",
	} {
		if got := recognise([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
