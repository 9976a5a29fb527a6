package main

import (
	"fmt"
	"strings"
	"time"
)

const introduction = `# Performance

This page is written by ` + "`make bench`" + `; do not edit it.

Files of 1 KiB, a hundred to a folder, put in place by whole processes. *First
apply*: nothing is there, and the tool keeps what it needs to take the run back
if it can. *No change*: all is as it should be. *Every byte verified*: the same,
with every file read. *Repair of 1 %*: one file in a hundred was overwritten
with other bytes, as many.

![Time against the number of files](performance.svg)

Medians of several rounds of one run, in which all tools do a work one after
another. Ratios are of wall times, taken within each round, then their median:
they stay when a busy machine makes all times longer. CPU is user and system
time of the process and of what it started and waited for; peak memory is that
of the largest of these processes. After each run content and modes are
compared with the source: "—" is a tool that left something else, see the notes.

The columns min–max say how much the machine was disturbed. Where they are wide,
differences smaller than that mean nothing, and a ratio to the limit below 1
means only noise: believe CPU times and memory before wall times there.

`

// report is docs/performance.md.
func report(b *bench, facts []fact) string {
	var t strings.Builder
	t.WriteString(introduction)
	for _, f := range facts {
		fmt.Fprintf(&t, "- %s: %s\n", f.name, f.value)
	}
	t.WriteString("\nThe tools:\n\n")
	for _, tool := range b.tools {
		fmt.Fprintf(&t, "- **%s**: %s\n", tool.name, tool.about)
	}
	for _, n := range b.notes {
		fmt.Fprintf(&t, "- %s\n", n)
	}
	wall := medianOf(b.start, func(s sample) time.Duration { return s.wall })
	rss := medianOf(b.start, func(s sample) int64 { return s.rss })
	fmt.Fprintf(&t, "\n`fettle version` starts and ends in %.1f ms with a peak of %.0f MiB.\n\n", float64(wall.Microseconds())/1e3, float64(rss)/(1<<20))
	t.WriteString(b.table(markdown))
	fmt.Fprintf(&t, "\n† took longer than %s, so it was measured in one round.\n", b.slow)
	return t.String()
}
