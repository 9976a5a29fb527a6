package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// puppetLargest is the number of files above which a run takes a minute.
const puppetLargest = 1000

// puppetTools are the ways of writing the files down for Puppet.
func puppetTools() []tool {
	return []tool{
		puppetTool("puppet, tree", "puppet apply of one recursive file with a source", func(p place) string {
			return fmt.Sprintf("file { '%s': ensure => directory, recurse => true, source => '%s', mode => '0644' }\n", p.dest,
				p.source)
		}),
		puppetTool("puppet, n files", "the same with n file resources", puppetFiles),
	}
}

func puppetTool(name, about string, manifest func(p place) string) tool {
	return tool{
		name: name, about: about, largest: puppetLargest, onceIfSlow: true, readsAll: true,
		prepare: func(p place) error {
			return os.WriteFile(filepath.Join(p.dir, "manifest.pp"), []byte(manifest(p)), 0o644)
		},
		command: func(p place, w work) []string {
			if w == coldList {
				return nil
			}
			return puppetApply(p.dir)
		},
	}
}

// puppetApply works with nothing outside dir.
func puppetApply(dir string) []string {
	argv := []string{"puppet", "apply", "--color=false"}
	for _, d := range []string{"conf", "code", "var", "run", "log"} {
		argv = append(argv, "--"+d+"dir="+filepath.Join(dir, "puppet", d))
	}
	return append(argv, filepath.Join(dir, "manifest.pp"))
}

func puppetFiles(p place) string {
	var b strings.Builder
	directory := func(dir string) { fmt.Fprintf(&b, "file { '%s': ensure => directory, mode => '0755' }\n", dir) }
	directory(p.dest)
	for _, d := range directories(p.n) {
		directory(filepath.Join(p.dest, d))
	}
	for i := range p.n {
		fmt.Fprintf(&b, "file { '%s/%s': ensure => file, source => '%s/%s', mode => '0644' }\n", p.dest, name(i), p.source,
			name(i))
	}
	return b.String()
}
