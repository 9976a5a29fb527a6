package main

import (
	"path/filepath"
	"strconv"
)

// startField starts programs that have nothing to do.
func startField(s settings, p peers) field {
	tools := []tool{
		startTool(limitName, "a Go program that ends at once", byHand(startEnd, "", 1)),
		startTool(fettleName, "fettle version", []string{s.fettle, "version"}),
	}
	if p.cfengine {
		tools = append(tools, startTool("cf-agent", "cf-agent -V", []string{"cf-agent", "-V"}))
	}
	if p.puppet {
		tools = append(tools, startTool("puppet", "puppet --version", []string{"puppet", "--version"}))
	}
	if p.ansible {
		tools = append(tools, startTool("ansible", "ansible-playbook --version", []string{"ansible-playbook", "--version"}))
	}
	return field{
		name: "programs", title: "start", works: []work{startEnd}, sizes: []int{1}, rounds: max(s.rounds, 7), tools: tools,
		place: func(base string, n, i int) place {
			return place{n: n, dir: filepath.Join(base, "start", strconv.Itoa(i))}
		},
		source: func(place) error { return nil },
		check:  func(place) error { return nil },
		heal:   func(place) error { return nil },
	}
}

func startTool(name, about string, argv []string) tool {
	return tool{
		name: name, about: about,
		prepare: func(p place) error { return writePlaybook(p.dir, "") },
		command: func(place, work) []string { return argv },
		env:     func(p place) []string { return ansibleEnv(p.dir) },
	}
}
