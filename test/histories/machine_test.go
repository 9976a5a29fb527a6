package histories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/test/histories/judge"
)

// machine is a throwaway root and the lists that are applied to it.
type machine struct {
	bin, dir string
	clock    int64
	noise    *strings.Builder // what the program printed, for whoever reads a failure
}

func (m *machine) root() string  { return filepath.Join(m.dir, "root") }
func (m *machine) state() string { return filepath.Join(m.root(), "var/lib/fettle") }

// newMachine lays out a root with what the case has there, and its lists.
func newMachine(k kit, c Case, dir string) (*machine, error) {
	m := &machine{bin: k.bin, dir: dir, clock: 1_600_000_000, noise: &strings.Builder{}}
	for _, d := range []string{"etc", "srv", "ctl", "tmp"} {
		if err := os.MkdirAll(filepath.Join(m.root(), d), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.Link(k.helper, filepath.Join(m.root(), "h")); err != nil {
		return nil, err
	}
	for name, text := range contents() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	for i, l := range c.Lists {
		if err := os.WriteFile(m.list(i+1), []byte(strings.Join(l, "\n")+"\n"), 0o644); err != nil {
			return nil, err
		}
	}
	for _, line := range c.Host {
		if err := m.hand(strings.Fields(line)); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *machine) list(n int) string { return filepath.Join(m.dir, fmt.Sprintf("list%d", n)) }

func (m *machine) look() judge.Tree {
	t, err := judge.Take(m.root(), "/var", "/ctl", "/h", "/tmp", "/run")
	if err != nil {
		panic(err) // the tests run as root on a tree that nothing else changes
	}
	return t
}

// hand does what others do to the tree. What is not possible is left out, so that a
// case stays one when lines are taken from it.
func (m *machine) hand(words []string) error {
	at := func(i int) string { return filepath.Join(m.root(), words[i]) }
	m.clock++
	then := time.Unix(m.clock, m.clock%1000*1000)
	parent := filepath.Dir(at(1))
	if st, err := os.Lstat(parent); err != nil || !st.IsDir() {
		return nil
	}
	switch words[0] {
	case "file": // file PATH CONTENT [MODE OWNER]: written anew
		_ = os.RemoveAll(at(1))
		_ = os.WriteFile(at(1), []byte(contents()[words[2]]), 0o644)
		m.dress(at(1), words[3:])
		_ = os.Chtimes(at(1), then, then)
	case "write": // write PATH CONTENT: into a file that exists
		if st, err := os.Lstat(at(1)); err == nil && st.Mode().IsRegular() {
			_ = os.WriteFile(at(1), []byte(contents()[words[2]]), 0o644)
			_ = os.Chtimes(at(1), then, then)
		}
	case "dir": // dir PATH [MODE OWNER]
		if st, err := os.Lstat(at(1)); err != nil || !st.IsDir() {
			_ = os.RemoveAll(at(1))
			_ = os.Mkdir(at(1), 0o755)
		}
		m.dress(at(1), words[2:])
	case "link": // link PATH TARGET
		_ = os.RemoveAll(at(1))
		_ = os.Symlink(words[2], at(1))
	case "hard": // hard PATH OTHER: a second name
		_ = os.Link(at(1), at(2))
	case "rm":
		_ = os.RemoveAll(at(1))
	case "chmod":
		m.dress(at(1), words[2:3])
	case "chown":
		if n, err := strconv.Atoi(words[2]); err == nil {
			_ = os.Lchown(at(1), n, n)
		}
	case "xattr":
		_ = unix.Lsetxattr(at(1), "user.note", []byte(words[2]), 0)
	default:
		return fmt.Errorf("there is no operation %q", strings.Join(words, " "))
	}
	return nil
}

// dress sets a mode and an owner, if they are given.
func (m *machine) dress(p string, words []string) {
	if len(words) > 1 {
		if n, err := strconv.Atoi(words[1]); err == nil {
			_ = os.Lchown(p, n, n)
		}
	}
	if st, err := os.Lstat(p); len(words) > 0 && err == nil && st.Mode()&os.ModeSymlink == 0 {
		if n, err := strconv.ParseUint(words[0], 8, 32); err == nil {
			_ = unix.Chmod(p, uint32(n))
		}
	}
}

// report is what is read of fettle's JSON.
type report struct {
	Exit    int
	Run     int
	Outcome string
	Error   string
	Failed  struct{ Addr string }
	To      int
	Changes []judge.Change
	Plan    *struct {
		To      int
		Changes []judge.Change
	}
	Runs []struct {
		Run     int
		Outcome string
	}
	killed bool
	text   string
}

// fettle runs the program with --json. killAt is the operation before which it dies.
func (m *machine) fettle(killAt int, args ...string) report {
	cmd := exec.Command(m.bin, append(args, "--root", m.root(), "--json")...)
	cmd.Dir = m.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + m.dir, "FETTLE_KILL=" + strconv.Itoa(killAt)}
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	err := cmd.Run()
	var r report
	_ = json.Unmarshal(out.Bytes(), &r)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.Exit, r.killed = exit.ExitCode(), !exit.Exited()
	} else if err != nil {
		panic(err)
	}
	if r.Plan != nil {
		r.To, r.Changes = r.Plan.To, r.Plan.Changes
	}
	r.text = bad.String()
	fmt.Fprintf(m.noise, "$ fettle %s  # exit %d, run %d %s %v\n%s%s\n", strings.Join(args, " "), r.Exit, r.Run,
		r.Outcome, r.Changes, r.Error, bad.String())
	return r
}

// newest is the outcome of the newest run in the record, and its number.
func (m *machine) newest() (int, string) {
	runs := m.fettle(0, "log").Runs
	if len(runs) == 0 {
		return 0, ""
	}
	return runs[0].Run, runs[0].Outcome
}

// ctl says how a command behaves in the next run.
func (m *machine) ctl(name, how string) {
	p := filepath.Join(m.root(), "ctl", name)
	if how == "" {
		_ = os.Remove(p)
		return
	}
	_ = os.WriteFile(p, []byte(how), 0o644)
}

// made tells of each command that creates something whether it exists.
func (m *machine) made() map[string]bool {
	out := map[string]bool{}
	for _, name := range []string{"m1", "m2"} {
		_, err := os.Lstat(filepath.Join(m.root(), "ctl/made."+name))
		out[name] = err == nil
	}
	return out
}

// ran lists the commands that ran since the last call.
func (m *machine) ran() []string {
	p := filepath.Join(m.root(), "ctl/log")
	b, _ := os.ReadFile(p)
	_ = os.Remove(p)
	return strings.Fields(string(b))
}
