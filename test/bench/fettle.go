package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// These are the tools that ratios are taken to.
const (
	limitName  = "limit"
	fettleTree = "fettle, one tree"
	fettleName = "fettle"
)

// baseline is the fettle that others are compared with in a work.
func baseline(w work) string {
	if w == mixedHost || w == startEnd || w == oneCatalog || w == validateAll || w == fleetDiff {
		return fettleName
	}
	return fettleTree
}

// fettleTools are the ways of writing the files down for fettle.
func fettleTools(bin string) []tool {
	repository := func(name, about string, source func(n int) []string) tool {
		return tool{
			name: name, about: about, settles: true,
			prepare: func(p place) error {
				repo := filepath.Join(p.dir, "repo")
				if err := writeTree(filepath.Join(repo, "modules/data/files/tree"), p.n); err != nil {
					return err
				}
				return prepareRepository(repo, source(p.n))
			},
			command: func(p place, w work) []string {
				argv := withVerify([]string{bin, "apply", "-C", filepath.Join(p.dir, "repo"), "--yes",
					"--root", filepath.Join(p.live, "root"), "--state", filepath.Join(p.live, "state")}, w)
				return withLimits(argv, p.n)
			},
		}
	}
	return []tool{
		repository(fettleTree,
			"fettle apply in a git repository, one directory with a source; includes git and compilation", oneTree),
		repository("fettle, n files", "the same with n file states", manyFiles),
		{
			name: "fettle, step file", about: "fettle steps apply of n COPY lines; reads their sources for the digests",
			settles: true, largest: 10_000,
			prepare: prepareSteps,
			command: func(p place, w work) []string {
				if w == coldList {
					return nil
				}
				return withVerify([]string{bin, "steps", "apply", filepath.Join(p.dir, "list.steps"), "--yes",
					"--root", filepath.Join(p.live, "root"), "--state", filepath.Join(p.live, "state")}, w)
			},
		},
	}
}

// withVerify reads every byte where the work asks for it.
func withVerify(argv []string, w work) []string {
	if w == verifyAll {
		argv = append(argv, "--verify")
	}
	return argv
}

// withLimits allows what a repository may not have by default.
func withLimits(argv []string, n int) []string {
	if n > 40_000 {
		argv = append(argv, "--max-files", "200000", "--compile-timeout", "10m", "--compile-memory", "8GiB")
	}
	return argv
}

func oneTree(int) []string {
	return []string{"directory \"/srv/data\" {\n  source = \"files/tree\"\n}\n"}
}

// manyFiles are several texts, since a source file may have 1 MiB.
func manyFiles(n int) []string {
	var b strings.Builder
	b.WriteString("directory \"/srv/data\" {}\n")
	for _, d := range directories(n) {
		fmt.Fprintf(&b, "directory \"/srv/data/%s\" {}\n", d)
	}
	var out []string
	for i := range n {
		fmt.Fprintf(&b, "file \"/srv/data/%s\" {\n  source = \"files/tree/%s\"\n}\n", name(i), name(i))
		if i%5000 == 4999 {
			out = append(out, b.String())
			b.Reset()
		}
	}
	return append(out, b.String())
}

// prepareRepository makes a git repository with one module and commits it.
func prepareRepository(repo string, module []string) error {
	files := map[string]string{"fettle.hcl": "target \"bench\" { modules = [\"data\"] }\n"}
	for i, text := range module {
		files[fmt.Sprintf("modules/data/part-%02d.hcl", i)] = text
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "files"}} {
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}

func prepareSteps(p place) error {
	if err := writeTree(filepath.Join(p.dir, "tree"), p.n); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("MKDIR /srv/data\n")
	for _, d := range directories(p.n) {
		fmt.Fprintf(&b, "MKDIR /srv/data/%s\n", d)
	}
	for i := range p.n {
		fmt.Fprintf(&b, "COPY tree/%s /srv/data/%s\n", name(i), name(i))
	}
	return os.WriteFile(filepath.Join(p.dir, "list.steps"), []byte(b.String()), 0o644)
}
