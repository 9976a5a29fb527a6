package main

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/test/bench/machine"
)

const introduction = `# Performance

This page is written by ` + "`make bench`" + `; do not edit it. Many hosts over SSH are in [performance-hosts.md](performance-hosts.md).

Whole processes, from their start to their end. A figure is the median of
several rounds; in a round all tools do a work one after another, and ratios are
taken within a round. CPU is user and system time of the process and of what it
started; peak memory is that of the largest of these processes. After every run
what is there is compared with what should be there.

*The limit* is the same work by hand in Go, without history, comparison or
safety: no tool can leave out what it does. Nothing is extrapolated: a row that is
missing was not measured.

- **†** measured in fewer rounds: a run takes longer than %s, or there are %s files
- **—** the tool failed or left something else; the notes say what
- wide columns min–max: the machine was disturbed. Believe CPU times and memory
  before wall times there

![Time against the number of files](performance.svg)

`

// about says what a work is.
func about(w work) (title, text string) {
	switch w {
	case firstApply:
		return "First apply", "Files of 1 KiB, a hundred to a folder, where nothing is. The tools that can take a run back keep what they need for it."
	case noChange:
		return "No change", "All is as it should be. Times may be trusted."
	case verifyAll:
		return "No change, every byte verified", "The same, with every file read. Puppet and Ansible do that in each run, so their figures are those of *no change*."
	case repair:
		return "Repair of 1 %", "One file in a hundred was overwritten with as many other bytes."
	case coldList:
		return "The list: from the cache, or compiled anew", "Runs of fettle without changes. *Compiled anew*: the cache of lists was taken away before, and with it what fettle remembers of the repository's files."
	case mixedHost:
		return "Mixed host, no change", fmt.Sprintf("%d packages, %d accounts, %d files, %d links and %d templates on this machine's own root, below a layer that is thrown away. Each tool has brought the state about itself before.",
			len(hostPackages()), hostAccounts, hostFiles, hostLinks, hostTemplates)
	case oneCatalog:
		return "One catalog", fmt.Sprintf("About %d states of one target compiled to its list, the cache of lists not used. For Puppet as many file resources, which all are as they should be.", catalogStates)
	case validateAll:
		return "Validate a fleet", "Every target of a repository compiled and checked: the company of the examples with its targets repeated, about 206 states and 245 steps a target, 25 modules. Peak memory is that of the largest process."
	case fleetDiff:
		return "Difference of a fleet", "The lists of every target at two revisions, of which one module differs, compared."
	case startEnd:
		return "Start and end", "Programs that have nothing to do but to start."
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
	t.WriteString("\n## Where\n\n")
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
