package main

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/test/bench/machine"
)

const introduction = `# Performance on many hosts

This page is written by ` + "`make bench-hosts`" + `; do not edit it. What fettle does on one machine is in [performance.md](performance.md).

Four operations on each of many hosts over SSH: a directory, a file with the name of
the host in it, a line in a file that is there, and a command that runs once. A
figure is the median of several rounds; in a round all tools do a work one after
another, and ratios are taken within a round. After every run every host is looked at.

*The limit* is OpenSSH alone, with the same work as one script: the handshake and the
start of a shell, which no tool over SSH can leave out. Nothing is extrapolated: a row
that is missing was not measured.

The hosts are as many sshd on this very machine, so that tools and hosts share its
processors. On a network of its own a workstation is loaded by *CPU here* alone.

- *CPU here* is the processor time of the tool and all that it starts, *CPU there* that of all hosts together
- **†** measured in one round
- **—** the tool failed or left something else; the notes say what
- wide columns min–max: the machine was disturbed. Believe CPU times and ratios before wall times there

`

// about says what a work is.
func about(w work) (title, text string) {
	switch w {
	case firstContact:
		return "First contact", "No tool was ever there. fettle brings a program to each host, which is most of the work: *limit, upload* brings the whole program of a workstation by hand, and fettle a smaller one that it carries for targets. A network would carry them, where here the processors do."
	case change:
		return "Change", "All four operations are to be done. No connection is kept; fettle's program is there."
	case noChange:
		return "No change", "The same with all as it should be."
	case noChangeKept:
		return "No change, connections kept", "Again within a minute: every tool uses the connections that it has kept from the run before."
	case changeKept:
		return "Change, connections kept", "The same with all four operations to be done."
	case farFirst:
		return "Five hosts far away: first contact", "Behind a relay with a round trip of 80 ms, where one chunk in twenty is lost and comes after the time for sending it anew. fettle's program has to come there."
	case farChange:
		return "Five hosts far away: change", "The same with the program there."
	case farNoChange:
		return "Five hosts far away: no change", "The same with all as it should be."
	}
	return string(w), ""
}

// report is docs/performance-hosts.md.
func report(b *bench, facts []machine.Fact) string {
	var t strings.Builder
	t.WriteString(introduction)
	for _, w := range works() {
		if rows := b.rows(w); len(rows) > 0 {
			title, text := about(w)
			fmt.Fprintf(&t, "## %s\n\n%s\n\n%s\n", title, text, table(rows))
		}
	}
	t.WriteString("## How each tool was told\n\n")
	fmt.Fprintf(&t, "All work on %d hosts at once.\n\n", b.parallel)
	for _, tool := range b.tools {
		fmt.Fprintf(&t, "- **%s**: %s\n", tool.name, tool.about)
	}
	t.WriteString("\n## Where\n\n")
	for _, f := range facts {
		fmt.Fprintf(&t, "- %s: %s\n", f.Name, f.Value)
	}
	if len(b.notes) > 0 {
		t.WriteString("\n## Notes\n\n")
	}
	for _, n := range b.notes {
		fmt.Fprintf(&t, "- %s\n", strings.Join(strings.Fields(n), " "))
	}
	return t.String()
}
