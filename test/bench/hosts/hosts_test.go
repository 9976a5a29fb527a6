package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/bench/machine"
	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/needs"
)

func Example() {
	err := run([]string{"-hosts", "many"})
	fmt.Println(err)
	// Output: cannot use -hosts "many": give whole numbers from 1 to 2000, such as 20,100
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-hosts", "0"}, {"-rounds", "0"}, {"-parallel", "0"}, {"-works", "("},
		{"-tools", "("}, {"word"}} {
		if _, err := parseFlags(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	s, err := parseFlags([]string{"-works", "^no", "-tools", "limit"})
	if err != nil || s.out != "" || s.wanted(change, limitName) || s.wanted(noChange, fettleName) ||
		!s.wanted(noChange, limitName) {
		t.Errorf("a part is not chosen, or would write the page: %+v, %v", s, err)
	}
}

// A chunk takes half a round trip, longer if it is lost, and overtakes none.
func TestArrival(t *testing.T) {
	now := time.Unix(0, 0)
	for _, c := range []struct {
		ahead time.Duration
		again bool
		want  time.Duration
	}{
		{0, false, 40 * time.Millisecond},
		{0, true, 280 * time.Millisecond},
		{time.Second, false, time.Second},
	} {
		if got := arrival(now.Add(c.ahead), now, c.again).Sub(now); got != c.want {
			t.Errorf("behind %s, lost %v: %s, want %s", c.ahead, c.again, got, c.want)
		}
	}
}

// The page has a table for what was measured, a dash for what failed, and ratios of
// one round.
func TestReport(t *testing.T) {
	b := &bench{
		settings: settings{hosts: []int{20}, parallel: 50},
		tools:    []tool{{name: limitName, about: "by hand"}, {name: fettleName}, {name: ansibleName}},
		notes:    []string{"one\nnote"},
		broken:   map[cell]string{{change, ansibleName, 20}: "it failed"},
		results: map[cell][]sample{
			{change, limitName, 20}:           {{wall: time.Second}, {round: 1, wall: 4 * time.Second}},
			{change, fettleName, 20}:          {{wall: 2 * time.Second, here: time.Second}, {round: 1, wall: 4 * time.Second}},
			{farChange, fettleName, farHosts}: {{wall: 2 * time.Second, turns: 50}},
		},
	}
	got := report(b, []machine.Fact{{Name: "date", Value: "2026-01-31"}})
	for _, want := range []string{
		"| 20 | limit | 1.00 | 1.00–4.00 | 0.00 | 0.00 | 1.00 |",
		"| 20 | fettle | 2.00 | 2.00–4.00 | 0.00 | 0.00 | 1.00 |  |  |",
		"| 20 | ansible | — |", "| 5 | fettle | 2.00† | 2.00–2.00 | 0.00 | 0.00 |  |  | 10 |",
		"- **limit**: by hand", "- date: 2026-01-31", "- one note",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "First contact\n\n") {
		t.Error("there is a table of what was not measured")
	}
}

// Hosts are made, works are done on them by fettle and by hand, they hold what they
// should, and nothing stays behind.
func TestHosts(t *testing.T) {
	needs.Root(t)
	for _, program := range []string{"sshd", "ssh", "ssh-keygen"} {
		needs.Program(t, program)
	}
	if _, err := hierarchy(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, pkg := range map[string]string{"hosts": ".", "fettle": gobuild.Fettle} {
		if err := gobuild.Program(filepath.Join(dir, name), pkg); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(dir, "hosts"), "-fettle", filepath.Join(dir, "fettle"), "-hosts", "2", "-rounds",
		"1", "-peers=false", "-works", "^first|^no change$|far: ch")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "| fettle |") != 3 || strings.Count(string(out), "| limit |") != 3 {
		t.Errorf("not all was measured: %v\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "fettle-hosts-*")); len(left) > 0 {
		t.Errorf("%q is left behind", left)
	}
}
