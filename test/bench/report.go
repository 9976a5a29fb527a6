package main

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/test/bench/machine"
)

const introduction = `# Performance

` + "`make bench`" + ` writes this page; do not edit it. Many hosts over SSH: [performance-hosts.md](performance-hosts.md).

A benchmark measures whole processes, from their start to their end. A figure is the median of
several rounds. In a round, all tools run the same work one after another. Ratios are
taken within a round. CPU is user and system time of the process and of its
children. Peak memory is the peak of the largest of these processes. After every run
the benchmark compares the host with the desired state.

*The limit* is the same work by hand in Go, without history, comparison or
safety. Every tool must do at least this work. No figure is extrapolated: a missing row was
not measured.

- **†** measured in fewer rounds: a run takes longer than %s, or there are %s files
- **—** the tool failed or its result was wrong; the notes have the reason
- a large difference between min and max: the host was disturbed. CPU times and memory
  are more reliable there than wall times

![Time against the number of files](performance.svg)

`

// about says what a work is.
func about(w work) (title, text string) {
	switch w {
	case firstApply:
		return "First apply",
			"Files of 1 KiB, a hundred in each directory, created on an empty host. Tools that can undo a run also store the necessary data."
	case noChange:
		return "No change", "The host is in sync. Tools may rely on file times."
	case verifyAll:
		return "No change, every byte verified",
			"As before, but every file is read. Puppet and Ansible do that in each run, so their figures are copied from *no change*."
	case repair:
		return "Repair of 1 %", "One file in a hundred was overwritten with the same number of different bytes."
	case coldList:
		return "The list: from the cache, or compiled again",
			"Runs of fettle without changes. *Compiled again*: before the run, the cache of lists and the cached digests of the repository's files were removed."
	case mixedHost:
		return "Mixed host, no change",
			fmt.Sprintf("%d packages, %d accounts, %d files, %d links and %d templates on the root of this host, below an overlay that is discarded. Before that, each tool itself applied the state.",
				len(hostPackages()), hostAccounts, hostFiles, hostLinks, hostTemplates)
	case oneCatalog:
		return "One catalog",
			fmt.Sprintf("About %d states of one target are compiled to its list, without the cache of lists. Puppet compiles the same number of file resources, which are all in sync.", catalogStates)
	case validateAll:
		return "Validate a fleet",
			"Every target of a repository is compiled and checked. The repository is the company of the examples with its targets repeated: about 206 states and 245 steps per target, 25 modules. Peak memory is the peak of the largest process."
	case fleetDiff:
		return "Difference of a fleet", "The lists of every target are compared at two revisions that differ in one module."
	case startEnd:
		return "Start and end", "Each binary only starts and ends."
	}
	return string(w), ""
}

// toolLines say how each tool was told what to do.
func toolLines(b *bench) []string {
	var out []string
	for _, f := range b.fields {
		for _, tool := range f.tools {
			out = append(out, fmt.Sprintf("- %s, **%s**: %s\n", f.title, tool.name, tool.about))
		}
	}
	return out
}

// report is docs/performance.md.
func report(b *bench, facts []machine.Fact) string {
	var t strings.Builder
	fmt.Fprintf(&t, introduction, b.slow, thousands(b.once))
	for _, w := range works() {
		if rows := b.rows(w); rows != nil {
			title, text := about(w)
			fmt.Fprintf(&t, "## %s\n\n%s\n\n%s\n", title, text, markdownTable(rows))
		}
	}
	t.WriteString("## " + toolsTitle + "\n\n" + strings.Join(toolLines(b), ""))
	t.WriteString("\n## Environment\n\n")
	for _, f := range facts {
		fmt.Fprintf(&t, "- %s: %s\n", f.Name, f.Value)
	}
	if len(b.notes) > 0 {
		t.WriteString("\n## Notes\n\n")
	}
	for _, n := range b.notes {
		fmt.Fprintf(&t, "- %s\n", strings.ReplaceAll(n, "\n", " "))
	}
	return t.String()
}
