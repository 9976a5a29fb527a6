package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// allFields are what is measured, and what to say of that which is not.
func allFields(s settings, base string) ([]field, []string, error) {
	if _, err := os.Stat(s.fettle); err != nil {
		return nil, nil, fmt.Errorf("cannot find the fettle to measure: %w; type: make build", err)
	}
	peers, notes := findPeers(s)
	all := []field{startField(s, peers), hostField(s, peers), filesField(s, peers), catalogField(s, peers), fleetField(s)}
	if err := mountable(base); err != nil {
		notes = append(notes, "the mixed host is not measured: "+err.Error())
		all[1].sizes = nil
	}
	for i, f := range all {
		all[i] = s.part(f)
	}
	return all, notes, nil
}

// filesField puts files in place.
func filesField(s settings, p peers) field {
	f := field{
		name: "files", title: "files", works: []work{firstApply, coldList, noChange, verifyAll, repair}, sizes: s.sizes,
		rounds: s.rounds, warmed: true,
		tools: append([]tool{limitTool()}, fettleTools(s.fettle)...),
		place: func(base string, n, i int) place {
			dir := filepath.Join(base, "files-"+strconv.Itoa(n), "t"+strconv.Itoa(i))
			return place{
				n: n, dir: dir, source: filepath.Join(base, "files-"+strconv.Itoa(n), "source"),
				live: filepath.Join(dir, "live"), dest: filepath.Join(dir, "live/root/srv/data"),
			}
		},
		source: func(p place) error {
			if _, err := os.Stat(p.source); err == nil {
				return nil
			}
			return writeTree(p.source, p.n)
		},
		check: func(p place) error { return checkTree(p.dest, p.n) },
		heal:  func(p place) error { return healTree(p.dest, p.n) },
	}
	if p.cfengine {
		f.tools = append(f.tools, cfTools()...)
	}
	if p.puppet {
		f.tools = append(f.tools, puppetTools()...)
	}
	if p.ansible {
		f.tools = append(f.tools, ansibleTools()...)
	}
	return f
}
