package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"fettle.dev/fettle/test/bench/scale"
)

// company is the repository whose targets are repeated.
const company = "examples/company"

// catalogStates is how many states a target of it has, about.
const catalogStates = 206

// fleetField compiles all targets of a repository, and what differs in two
// revisions of it when one module changed.
func fleetField(s settings) field {
	return field{
		name: "targets", title: "fleet", works: []work{validateAll, fleetDiff}, sizes: []int{1000, 10_000}, rounds: s.rounds,
		tools: []tool{
			{
				name: limitName, about: "by hand in Go, on all cores: SHA-256 of the same number of bytes as in the lists, once for each revision",
				prepare: func(place) error { return nil },
				command: func(p place, w work) []string { return byHand(w, "", p.n) },
			},
			{
				name: fettleName, about: "fettle validate, fettle diff REV REV --fleet: about 206 states and 245 steps per target",
				prepare: prepareCompany,
				command: func(p place, w work) []string {
					repo := filepath.Join(p.dir, "repo")
					if w == validateAll {
						return []string{s.fettle, "validate", "-C", repo}
					}
					return []string{s.fettle, "diff", "HEAD~1", "HEAD", "--fleet", "-C", repo}
				},
				env: func(place) []string { return []string{differs + "=yes"} },
			},
		},
		place: func(base string, n, i int) place {
			return place{n: n, dir: filepath.Join(base, "fleet-"+strconv.Itoa(n), strconv.Itoa(i))}
		},
		source: func(place) error { return nil },
		check:  func(place) error { return nil },
		heal:   func(place) error { return nil },
	}
}

// prepareCompany writes the repository in two revisions.
func prepareCompany(p place) error {
	repo := filepath.Join(p.dir, "repo")
	if err := scale.Write(repo, company, p.n); err != nil {
		return err
	}
	if err := gitIn(repo, "init", "-q"); err != nil {
		return err
	}
	if err := commitAll(repo); err != nil {
		return err
	}
	module := filepath.Join(repo, "modules/base/module.hcl")
	text, err := os.ReadFile(module)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), "# See /etc/apt", "# Look at /etc/apt", 1)
	if changed == string(text) {
		return fmt.Errorf("%s does not have the line to change", module)
	}
	if err := os.WriteFile(module, []byte(changed), 0o644); err != nil {
		return err
	}
	return commitAll(repo)
}

func commitAll(repo string) error {
	if err := gitIn(repo, "add", "-A"); err != nil {
		return err
	}
	return gitIn(repo, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "fleet")
}

func gitIn(repo string, args ...string) error {
	out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// listBytes is how long the list of a target is, about.
const listBytes = 27 << 10

// limitFleet digests what lists come to.
func limitFleet(n, revisions int) error {
	text := make([]byte, listBytes)
	return spread(n, func(int) error {
		for range revisions {
			_ = sha256.Sum256(text)
		}
		return nil
	})
}

// catalogField compiles one target, beside Puppet with as many resources.
func catalogField(s settings, p peers) field {
	tools := []tool{{
		name: fettleName, about: "fettle compile of one target of the company",
		prepare: func(p place) error {
			repo := filepath.Join(p.dir, "repo")
			if err := scale.Write(repo, company, 100); err != nil {
				return err
			}
			if err := gitIn(repo, "init", "-q"); err != nil {
				return err
			}
			return commitAll(repo)
		},
		command: func(p place, _ work) []string {
			return []string{s.fettle, "compile", "-C", filepath.Join(p.dir, "repo"), "-t", "web0.ber.example.net", "--state",
				filepath.Join(p.dir, "state")}
		},
	}}
	if p.puppet {
		tools = append(tools, tool{
			name: "puppet", about: "puppet apply --noop of the same number of existing file resources",
			prepare: func(p place) error {
				p.n, p.dest = catalogStates, filepath.Join(p.dir, "dest")
				p.source = p.dest
				if err := writeTree(p.dest, p.n); err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(p.dir, "manifest.pp"), []byte(puppetFiles(p)), 0o644)
			},
			command: func(p place, _ work) []string {
				argv := puppetApply(p.dir)
				return append(argv[:2:2], append([]string{"--noop"}, argv[2:]...)...)
			},
		})
	}
	return field{
		name: "states", title: "one catalog", works: []work{oneCatalog}, sizes: []int{catalogStates}, rounds: s.rounds,
		tools: tools,
		place: func(base string, n, i int) place {
			return place{n: n, dir: filepath.Join(base, "catalog", strconv.Itoa(i))}
		},
		source: func(place) error { return nil },
		check:  func(place) error { return nil },
		heal:   func(place) error { return nil },
	}
}
