package main

import "fettle.dev/fettle/test/bench/machine"

// describe tells of the machine and of the versions.
func describe(s settings, dir string) ([]machine.Fact, error) {
	facts, err := machine.Describe(s.date, dir)
	if err != nil {
		return nil, err
	}
	version := func(name string, argv ...string) {
		facts = append(facts, machine.Fact{Name: name, Value: machine.Output(argv...)})
	}
	version("fettle", s.fettle, "version")
	version("git", "git", "--version")
	if s.peers {
		version("cf-agent", "cf-agent", "-V")
		version("puppet", "puppet", "--version")
		version("ansible", "ansible-playbook", "--version")
	}
	return facts, nil
}
