package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// baseline is the tool that ratios are taken to.
const baseline = "fettle, one tree"

// fettleTools are the ways of writing the files down for fettle.
func fettleTools(bin string) []tool {
	repository := func(name, about string, source func(n int) string) tool {
		return tool{
			name: name, about: about,
			prepare: func(p place) error { return prepareRepository(p, source(p.n)) },
			command: func(p place, w work) []string {
				return withVerify([]string{bin, "apply", "-C", filepath.Join(p.dir, "repo"), "--yes",
					"--root", filepath.Join(p.live, "root"), "--state", filepath.Join(p.live, "state")}, w)
			},
		}
	}
	return []tool{
		repository(baseline, "fettle apply in a git repository, one directory with a source; git and compiling are part of it", oneTree),
		repository("fettle, n files", "the same with n file states", manyFiles),
		{
			name: "fettle, step file", about: "fettle steps apply of n COPY lines; their sources are read to be digested",
			prepare: prepareSteps,
			command: func(p place, w work) []string {
				return withVerify([]string{bin, "steps", "apply", filepath.Join(p.dir, "list.steps"), "--yes",
					"--root", filepath.Join(p.live, "root"), "--state", filepath.Join(p.live, "state")}, w)
			},
		},
	}
}

func withVerify(argv []string, w work) []string {
	if w == verifyAll {
		argv = append(argv, "--verify")
	}
	return argv
}

func oneTree(int) string {
	return "directory \"/srv/data\" {\n  source = \"files/tree\"\n}\n"
}

func manyFiles(n int) string {
	var b strings.Builder
	b.WriteString("directory \"/srv/data\" {}\n")
	for _, d := range folders(n) {
		fmt.Fprintf(&b, "directory \"/srv/data/%s\" {}\n", d)
	}
	for i := range n {
		fmt.Fprintf(&b, "file \"/srv/data/%s\" {\n  source = \"files/tree/%s\"\n}\n", name(i), name(i))
	}
	return b.String()
}

// prepareRepository makes a git repository with one module and commits it.
func prepareRepository(p place, module string) error {
	repo := filepath.Join(p.dir, "repo")
	if err := writeTree(filepath.Join(repo, "modules/data/files/tree"), p.n); err != nil {
		return err
	}
	for file, text := range map[string]string{"fettle.hcl": "target \"bench\" { modules = [\"data\"] }\n", "modules/data/module.hcl": module} {
		if err := os.WriteFile(filepath.Join(repo, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "files"}} {
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
	for _, d := range folders(p.n) {
		fmt.Fprintf(&b, "MKDIR /srv/data/%s\n", d)
	}
	for i := range p.n {
		fmt.Fprintf(&b, "COPY tree/%s /srv/data/%s\n", name(i), name(i))
	}
	return os.WriteFile(filepath.Join(p.dir, "list.steps"), []byte(b.String()), 0o644)
}
