package main

import "fettle.dev/fettle/test/bench/machine"

// peers tells which other tools there are.
type peers struct{ cfengine, puppet, ansible bool }

// findPeers finds the peers, and installs those that are missing when it may.
// Those that it did not get have a note.
func findPeers(s settings) (peers, []string) {
	var notes []string
	find := func(program, pkg string) bool {
		if !s.peers {
			return false
		}
		if err := machine.Install(program, pkg); err != nil {
			notes = append(notes, err.Error())
			return false
		}
		return true
	}
	return peers{find("cf-agent", "cfengine3"), find("puppet", "puppet"), find("ansible-playbook", "ansible-core")}, notes
}
