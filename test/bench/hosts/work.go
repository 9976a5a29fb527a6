package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// work is what is measured.
type work string

// The works.
const (
	firstContact work = "first contact"
	change       work = "change"
	noChange     work = "no change"
	noChangeKept work = "no change, connections kept"
	changeKept   work = "change, connections kept"
	farFirst     work = "far: first contact"
	farChange    work = "far: change"
	farNoChange  work = "far: no change"
)

func works() []work {
	return []work{firstContact, change, noChange, noChangeKept, changeKept, farFirst, farChange, farNoChange}
}

// isFar tells whether a work goes through the relay.
func (w work) isFar() bool { return w == farFirst || w == farChange || w == farNoChange }

// isKept tells whether the connections of the run before are there.
func (w work) isKept() bool { return w == noChangeKept || w == changeKept }

// isFirst tells whether the host never saw a tool before, and done whether all is as
// it should be already.
func (w work) isFirst() bool { return w == firstContact || w == farFirst }
func (w work) done() bool    { return w == noChange || w == noChangeKept || w == farNoChange }

// What the four operations are about.
const (
	directory = "/srv/bench"
	file      = directory + "/app.conf"
	ready     = directory + "/ready"
	shared    = "/etc/bench.conf"
	oldLine   = "limit = 1024"
	newLine   = "limit = 4096"
)

// content is what the file of a host holds.
func content(host string) string {
	return "host = " + host + "\n" + strings.Repeat("setting = value\n", 60)
}

// sharedText is the file that others write too.
func sharedText(line string) string {
	return strings.Repeat("# a line of another user\n", 20) + line + "\n" + "colour = green\n"
}

// reset brings a host to where a work begins: nothing there, or all of it.
func (h *host) reset(w work) error {
	if err := os.RemoveAll(h.path(directory)); err != nil {
		return err
	}
	if w.isFirst() {
		if err := h.forget(); err != nil {
			return err
		}
	}
	line := oldLine
	if w.done() {
		line = newLine
		if err := h.fill(); err != nil {
			return err
		}
	}
	return os.WriteFile(h.path(shared), []byte(sharedText(line)), 0o644)
}

// fill does by hand what the tools are to do.
func (h *host) fill() error {
	if err := os.Mkdir(h.path(directory), 0o750); err != nil {
		return err
	}
	if err := os.Chmod(h.path(directory), 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(h.path(file), []byte(content(h.name)), 0o640); err != nil {
		return err
	}
	return os.WriteFile(h.path(ready), nil, 0o644)
}

// forget takes away what tools have left there for the next time.
func (h *host) forget() error {
	for _, dir := range []string{"/root", "/var/lib/fettle", "/etc/fettle"} {
		entries, err := os.ReadDir(h.path(dir))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(h.path(dir), e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(h.path("/var/lib/fettle"))
}

// check tells what is not as it should be on a host after a work.
func (h *host) check() error {
	for path, mode := range map[string]os.FileMode{directory: os.ModeDir | 0o750, file: 0o640, ready: 0o644} {
		info, err := os.Stat(h.path(path))
		if err != nil {
			return fmt.Errorf("%s lacks %s", h.name, path)
		}
		if info.Mode() != mode {
			return fmt.Errorf("%s has %s with mode %s and not %s", h.name, path, info.Mode(), mode)
		}
	}
	for path, want := range map[string]string{file: content(h.name), shared: sharedText(newLine)} {
		if got, err := os.ReadFile(h.path(path)); err != nil || string(got) != want {
			return fmt.Errorf("%s has wrong content in %s", h.name, path)
		}
	}
	return nil
}

// onAll does something with hosts, some at once.
func onAll(hosts []*host, do func(*host) error) error {
	var all errgroup.Group
	all.SetLimit(8)
	for _, h := range hosts {
		all.Go(func() error { return do(h) })
	}
	return all.Wait()
}
