package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// cell is what has a figure.
type cell struct {
	work work
	tool string
	n    int // hosts
}

// sample is one run.
type sample struct {
	round             int
	wall, here, there time.Duration // here and there are processor time
	turns             int64         // how often this side answered, over all relays
}

// bench is the benchmark while it runs.
type bench struct {
	settings
	base          string
	client, there group
	hosts         []*host
	relays        []*relay
	tools         []tool // each once, in the order of the page
	notes         []string
	results       map[cell][]sample
	broken        map[cell]string
}

// all measures everything.
func (b *bench) all() error {
	var err error
	if b.client, err = newGroup(b.base, "client"); err != nil {
		return err
	}
	if b.there, err = newGroup(b.base, "hosts"); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "starting hosts")
	most := farHosts
	for _, n := range b.settings.hosts {
		most = max(most, n)
	}
	if b.hosts, err = makeHosts(b.base, most, b.there); err != nil {
		return err
	}
	if b.relays, err = startRelays(b.hosts[:farHosts]); err != nil {
		return err
	}
	for _, n := range b.settings.hosts {
		if err := b.field(n, false); err != nil {
			return err
		}
	}
	return b.field(farHosts, true)
}

// field measures all works with a number of hosts, near ones or those behind the
// relay.
func (b *bench) field(n int, far bool) error {
	tools, err := b.toolsFor(n, far)
	if err != nil {
		return err
	}
	for _, t := range tools {
		if !slices.ContainsFunc(b.tools, func(o tool) bool { return o.name == t.name }) {
			b.tools = append(b.tools, t)
		}
	}
	for round := range b.rounds {
		for _, w := range works() {
			if w.isFar() != far {
				continue
			}
			for i := range tools {
				t := tools[(i+round)%len(tools)]
				if !b.wanted(w, t.name) || t.argv(w) == nil || t.once && round > 0 {
					continue
				}
				if err := b.measure(t, w, n, round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measure runs a tool once and looks at every host afterwards.
func (b *bench) measure(t tool, w work, n, round int) error {
	c := cell{w, t.name, n}
	if b.broken[c] != "" {
		return nil
	}
	if err := b.prepare(t, w, n); err != nil {
		return err
	}
	s, err := b.run(t, w)
	if err == nil {
		err = onAll(b.hosts[:n], (*host).check)
	}
	if err != nil {
		b.broken[c] = err.Error()
		b.notes = append(b.notes, fmt.Sprintf("%s, %s, %d hosts: no figure: %v", t.name, w, n, err))
		return nil
	}
	s.round = round
	b.results[c] = append(b.results[c], s)
	fmt.Fprintf(os.Stderr, "%-28s %-14s %4d  %7.2f s  CPU here %6.2f  there %6.2f\n", w, t.name, n, s.wall.Seconds(),
		s.here.Seconds(), s.there.Seconds())
	return nil
}

// prepare brings hosts, connections and what was read to where a work begins. A tool
// that leaves something on the hosts has worked on them before, but at the first contact.
// What is to be done comes of a commit that nobody has read.
func (b *bench) prepare(t tool, w work, n int) error {
	if err := b.quiet(); err != nil {
		return err
	}
	reset := func(w work) error { return onAll(b.hosts[:n], func(h *host) error { return h.reset(w) }) }
	if t.settles && !w.isFirst() || w.isKept() {
		before := change
		if !t.settles {
			before = w
		}
		if err := reset(before); err != nil {
			return err
		}
		if _, err := b.run(t, w); err != nil {
			return nil // the measured run tells
		}
		if !w.isKept() {
			if err := b.quiet(); err != nil {
				return err
			}
		}
		if t.settles && w.done() || w == noChangeKept {
			return nil
		}
	}
	return errors.Join(os.RemoveAll(b.readings()), reset(w))
}

// readings is where fettle keeps what it read of its repository.
func (b *bench) readings() string { return filepath.Join(b.base, "readings") }

// quiet ends every connection, and waits until the hosts have noticed.
func (b *bench) quiet() error {
	if err := b.client.end(); err != nil {
		return err
	}
	for _, dir := range []string{"r", "c"} {
		if err := os.RemoveAll(filepath.Join(b.base, dir)); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(b.base, dir), 0o700); err != nil {
			return err
		}
	}
	return await("connections to end", func() bool {
		pids, err := b.there.processes()
		return err == nil && len(pids) == len(b.hosts)
	})
}

// run runs a tool and measures it.
func (b *bench) run(t tool, w work) (sample, error) {
	at, err := b.client.open()
	if err != nil {
		return sample{}, err
	}
	defer at.Close()
	log, err := os.Create(filepath.Join(b.base, "log"))
	if err != nil {
		return sample{}, err
	}
	defer log.Close()
	argv := t.argv(w)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), t.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(at.Fd()), Setpgid: true}
	here, err1 := b.client.cpu()
	there, err2 := b.there.cpu()
	turns := b.turns()
	began := time.Now()
	err = cmd.Run()
	s := sample{wall: time.Since(began), turns: b.turns() - turns}
	if err != nil || err1 != nil || err2 != nil {
		text, _ := os.ReadFile(log.Name())
		return s, fmt.Errorf("%q failed: %v\n%s", argv, err, text[max(0, len(text)-2000):])
	}
	hereNow, err1 := b.client.cpu()
	thereNow, err2 := b.there.cpu()
	if err1 != nil || err2 != nil {
		return s, fmt.Errorf("cannot read the processor time: %v, %v", err1, err2)
	}
	s.here, s.there = hereNow-here, thereNow-there
	return s, nil
}

// turns is how often this side has answered the hosts behind relays.
func (b *bench) turns() int64 {
	var n int64
	for _, r := range b.relays {
		n += r.turns.Load()
	}
	return n
}
