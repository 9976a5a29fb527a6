package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/test/bench/machine"
)

const introduction = `# Performance of a fleet

This page is written by ` + "`make bench-fleet`" + `; do not edit it. What fettle does on one machine is in [performance.md](performance.md).

A hub with very many agents. The hub is the real program with its own folder and a git
repository of %d modules, all of which every agent has. The agents are real as well, with
a key, a certificate and a link over mutual TLS each; some thousands live in a process, and what
they would do to their hosts is left out. They enrol by the hub's HTTPS. What they are
assigned first they have without fetching it; what commits change later they fetch.

At the end the hub is killed, and all that it keeps but its settings, keys and authority is
deleted; then it is killed again, and its folder made of a backup that is older than all of the commits.
Each time a commit is made while it is away, and counted is from its start. Each agent
looks whether an assignment ever has a number that another one had: none has.

Hub and agents share the processors of this machine, and the agents take the larger part
of them: believe processor times and memory before wall times. Agents take the memory that they
will need, up to 16 GiB, before anything is measured. Nothing is extrapolated.

*TLS alone* is a program that takes as many connections with certificates on both sides,
and does nothing else. *The bus alone* is fettle's message bus with links that rest. Both
give back the memory that they do not use before it is read; the hub is left to itself.
Memory is without the pages of the program's own file, which is shared by all and of which
the kernel keeps what it likes; *resident* is with them.

`

// row is a line of the table.
type row struct {
	what, asked string
	of          func(r result) string
}

// rows are the lines of the table.
func rows() []row {
	return []row{
		{"**memory of the hub, an agent**, KB", "≤ 40", func(r result) string { return kilobytes(float64(r.memory-r.empty) / float64(r.n)) }},
		{"TLS alone, a connection, KB", "", func(r result) string { return kilobytes(r.tls.memory) }},
		{"the bus alone, a link, KB", "", func(r result) string { return kilobytes(r.bus.memory) }},
		{"all that the hub has resident, MB", "", func(r result) string { return fmt.Sprintf("%.0f", float64(r.resident)/(1<<20)) }},
		{"memory of the hub before all, MB", "", func(r result) string { return fmt.Sprintf("%.0f", float64(r.empty)/(1<<20)) }},
		{"**processor of the hub at rest**, % of one", "", func(r result) string { return fmt.Sprintf("%.1f", 100*r.idle) }},
		{"**commit until the last agent is as it says**, s", "1,000 in 3, 10,000 in 20", func(r result) string {
			return seconds(middle(r, func(c commit) time.Duration { return c.last }))
		}},
		{"until half of them are, s", "", func(r result) string { return seconds(middle(r, func(c commit) time.Duration { return c.middle })) }},
		{"until the hub's views say so of all, s", "", func(r result) string { return seconds(middle(r, func(c commit) time.Duration { return c.known })) }},
		{"processor of the hub for it, s", "", func(r result) string { return seconds(middle(r, func(c commit) time.Duration { return c.cpu })) }},
		{"**reports made durable a second**, meanwhile", "", func(r result) string {
			c := r.commits[len(r.commits)-1]
			return fmt.Sprintf("%.0f", c.reports/c.known.Seconds())
		}},
		{"**all back after kill -9 and a start**, s", "≤ 60", func(r result) string { return seconds(r.again.last) }},
		{"until the hub answers, s", "", func(r result) string { return seconds(r.again.ready) }},
		{"agents in the busiest second", "", func(r result) string { return fmt.Sprint(r.again.peak) }},
		{"attempts that failed, an agent", "", func(r result) string { return fmt.Sprintf("%.1f", float64(r.again.failed)/float64(r.n)) }},
		{"processor of the hub for it, s", "", func(r result) string { return seconds(r.again.cpu) }},
		{"**store deleted: all back and as assigned**, s", "1,000 in 60", func(r result) string { return seconds(r.lost.last) }},
		{"until the hub answers, s", "", func(r result) string { return seconds(r.lost.ready) }},
		{"until the hub's views say so of all, s", "", func(r result) string { return seconds(r.lost.known) }},
		{"processor of the hub for it, s", "", func(r result) string { return seconds(r.lost.cpu) }},
		{"**restored from an old backup: all back and as assigned**, s", "1,000 in 60", func(r result) string { return seconds(r.restored.last) }},
		{"until the hub answers, s", "", func(r result) string { return seconds(r.restored.ready) }},
		{"until the hub's views say so of all, s", "", func(r result) string { return seconds(r.restored.known) }},
		{"processor of the hub for it, s", "", func(r result) string { return seconds(r.restored.cpu) }},
		{"TLS alone: all connected, s", "", func(r result) string { return seconds(r.tls.all) }},
		{"the bus alone: all connected, s", "", func(r result) string { return seconds(r.bus.all) }},
		{"**enrolments a second**", "", func(r result) string { return fmt.Sprintf("%.0f", float64(r.n)/r.enrol.Seconds()) }},
		{"first connection until all are as assigned, s", "", func(r result) string { return seconds(r.first) }},
		{"**disk of the hub, a target**, KB", "≤ 8", func(r result) string { return kilobytes(float64(sum(r.disk)) / float64(r.n)) }},
	}
}

func middle(r result, of func(commit) time.Duration) time.Duration {
	var all []time.Duration
	for _, c := range r.commits {
		all = append(all, of(c))
	}
	return median(all)
}

func kilobytes(b float64) string     { return fmt.Sprintf("%.1f", b/1024) }
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }
func sum(of map[string]int64) (n int64) {
	for _, v := range of {
		n += v
	}
	return n
}

// report is docs/performance-fleet.md.
func report(s settings, all []result, facts []machine.Fact) string {
	var t strings.Builder
	fmt.Fprintf(&t, introduction, s.modules)
	if s.short > 0 {
		fmt.Fprintf(&t, "A process may have %d files open on this machine, and a hub has one for each agent and one more\nwhile it fetches: so the largest fleet is as large as that allows.\n\n", s.short)
	}
	line(&t, "", "asked", all, func(r result) string { return fmt.Sprintf("%d agents", r.n) })
	t.WriteString("|---|---|" + strings.Repeat("--:|", len(all)) + "\n")
	for _, w := range rows() {
		line(&t, w.what, w.asked, all, w.of)
	}
	t.WriteString("\n## What lies on the disk\n\nKB of the hub's folder a target, at rest after the first assignment and the commits above. The log of\nwhat happened grows until its bound; the rest is as large as the fleet.\n\n")
	parts := map[string]bool{}
	for _, r := range all {
		for p := range r.disk {
			parts[p] = true
		}
	}
	line(&t, "", "", all, func(r result) string { return fmt.Sprintf("%d agents", r.n) })
	t.WriteString("|---|---|" + strings.Repeat("--:|", len(all)) + "\n")
	for _, p := range slices.Sorted(maps.Keys(parts)) {
		line(&t, p, about(p), all, func(r result) string { return kilobytes(float64(r.disk[p]) / float64(r.n)) })
	}
	t.WriteString("\n## Where\n\n")
	for _, f := range facts {
		fmt.Fprintf(&t, "- %s: %s\n", f.Name, f.Value)
	}
	return t.String()
}

func line(t *strings.Builder, what, more string, all []result, of func(result) string) {
	fmt.Fprintf(t, "| %s | %s |", what, more)
	for _, r := range all {
		fmt.Fprintf(t, " %s |", of(r))
	}
	t.WriteString("\n")
}

// about says what a part of the disk is.
func about(p string) string {
	return map[string]string{
		"assignments": "what each target is to be, signed", "targets": "the registry", "names": "who has which name", "log_events": "the log",
		"view": "the read model, made from the log again where it is lost", "tokens": "spent uses of tokens", "content": "the modules", "mirror": "the git repository",
	}[p]
}
