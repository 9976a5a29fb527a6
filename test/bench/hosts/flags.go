package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"fettle.dev/fettle/test/bench/machine"
)

// settings are the flags.
type settings struct {
	fettle, date, out string
	hosts             []int
	rounds, parallel  int
	ansible           int // the largest number of hosts for it
	peers             bool
	works, tools      *regexp.Regexp // nil is all
}

func parseFlags(args []string) (settings, error) {
	var s settings
	var hosts, works, tools string
	f := flag.NewFlagSet("hosts", flag.ContinueOnError)
	f.StringVar(&s.fettle, "fettle", "bin/fettle", "the fettle to measure")
	f.StringVar(&s.date, "date", os.Getenv("BENCH_DATE"), "the date that the page shows; or BENCH_DATE")
	f.StringVar(&s.out, "out", "docs",
		"directory for performance-hosts.md; empty writes none, and so does a run of a part")
	f.StringVar(&hosts, "hosts", "20,50,200", "numbers of hosts")
	f.IntVar(&s.rounds, "rounds", 3, "rounds; every figure is their median")
	f.IntVar(&s.parallel, "parallel", 50, "work on this number of hosts at once, with every tool")
	f.IntVar(&s.ansible, "ansible", 50, "measure Ansible on this number of hosts and fewer, in one round")
	f.BoolVar(&s.peers, "peers", true, "measure Ansible; it is installed when missing")
	f.StringVar(&works, "works", "", "measure only the works that this expression matches, such as '^no change'")
	f.StringVar(&tools, "tools", "", "measure only the tools that this expression matches, such as 'limit|fettle'")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("cannot use %q: there are only flags; see -help", f.Arg(0))
	}
	return s.complete(hosts, works, tools)
}

// complete turns the flags that are texts into what they mean.
func (s settings) complete(hosts, works, tools string) (settings, error) {
	for _, w := range strings.Split(hosts, ",") {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > 2000 {
			return s, fmt.Errorf("cannot use -hosts %q: give whole numbers from 1 to 2000, such as 20,100", hosts)
		}
		s.hosts = append(s.hosts, n)
	}
	if s.rounds < 1 || s.parallel < 1 {
		return s, errors.New("cannot measure nothing: give 1 or more to -rounds and -parallel")
	}
	var err error
	for _, e := range []struct {
		flag, text string
		to         **regexp.Regexp
	}{{"works", works, &s.works}, {"tools", tools, &s.tools}} {
		if e.text == "" {
			continue
		}
		if *e.to, err = regexp.Compile(e.text); err != nil {
			return s, fmt.Errorf("cannot use -%s: %w", e.flag, err)
		}
		s.out = ""
	}
	s.fettle, err = filepath.Abs(s.fettle)
	return s, err
}

func (s settings) wanted(w work, tool string) bool {
	return (s.works == nil || s.works.MatchString(string(w))) && (s.tools == nil || s.tools.MatchString(tool))
}

// findPrograms finds what is measured, and installs what is missing. What it did not
// get has a note.
func (s *settings) findPrograms() ([]string, error) {
	if _, err := os.Stat(s.fettle); err != nil {
		return nil, fmt.Errorf("cannot measure fettle: %w; build it: make build", err)
	}
	if _, err := exec.LookPath("/usr/sbin/sshd"); err != nil {
		if err := machine.Install("/usr/sbin/sshd", "openssh-server"); err != nil {
			return nil, err
		}
	}
	var notes []string
	if s.peers {
		if err := machine.Install("ansible-playbook", "ansible-core"); err != nil {
			s.peers = false
			notes = append(notes, err.Error())
		}
	}
	return notes, nil
}
