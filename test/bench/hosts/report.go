package main

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/test/bench/machine"
)

const introduction = `# Performance on many hosts

` + "`make bench-hosts`" + ` writes this page; do not edit it. A single host: [performance.md](performance.md).

The benchmark runs four operations on each of many hosts over SSH: a directory, a file that contains
the name of the host, a line in an existing file, and a command that runs once. A
figure is the median of several rounds. In a round, all tools run the same work one after
another. Ratios are taken within a round. After every run the benchmark checks every host.

*The limit* is OpenSSH alone, with the same work as one script: the handshake and the
start of a shell, which every tool over SSH needs. No figure is extrapolated: a missing row
was not measured.

All hosts are sshd processes on this host, so tools and hosts share its
CPUs. On a real network only *CPU here* loads a workstation.

- *CPU here* is the CPU time of the tool and its children, *CPU there* is the CPU time of all hosts together
- **†** measured in one round
- **—** the tool failed or its result was wrong; the notes have the reason
- a large difference between min and max: the host was disturbed. CPU times and ratios are more reliable there than
  wall times

`

// about says what a work is.
func about(w work) (title, text string) {
	switch w {
	case firstContact:
		return "First contact",
			"No tool has contacted the hosts before. fettle copies a binary to each host, which is most of the work. *limit, upload* copies the whole binary of a workstation by hand; fettle copies a smaller binary for targets. Here the CPUs transport the binaries instead of a network."
	case change:
		return "Change", "All four operations are necessary. No connection is kept; fettle's binary is on the hosts."
	case noChange:
		return "No change", "The same with hosts that are in sync."
	case noChangeKept:
		return "No change, connections kept",
			"The same again within a minute: every tool uses the connections that it kept from the previous run."
	case changeKept:
		return "Change, connections kept", "The same, and all four operations are necessary."
	case farFirst:
		return "Five hosts far away: first contact",
			"The hosts are behind a relay with a round trip of 80 ms. One chunk in twenty is lost and arrives after the time of a retransmission. fettle copies its binary to the hosts."
	case farChange:
		return "Five hosts far away: change", "The same with the binary on the hosts."
	case farNoChange:
		return "Five hosts far away: no change", "The same with hosts that are in sync."
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
	t.WriteString("## Commands of each tool\n\n")
	fmt.Fprintf(&t, "All work on %d hosts at once.\n\n", b.parallel)
	for _, tool := range b.tools {
		fmt.Fprintf(&t, "- **%s**: %s\n", tool.name, tool.about)
	}
	t.WriteString("\n## Environment\n\n")
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
