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

` + "`make bench-fleet`" + ` writes this page; do not edit it. A single host: [performance.md](performance.md).

The benchmark runs a hub with thousands of agents. The hub is the real binary with its own directory and a git
repository of %d modules, which every agent uses. The agents are real as well: each has
a key, a certificate and a link over mutual TLS. Thousands of agents share a process, and
they do not change their hosts. They enrol through the hub's HTTPS. They have the content of their
first assignment without fetching it, and fetch the changes of later commits.

All agents have one address, as behind NAT. Each time that the hub is killed, they all reconnect. This is repeated
while 64 other addresses attack the hub: they replace each connection that it closes. Half of the attackers
send nothing, and half begin a handshake and do not end it. The attack has %d connections.

Commits reach all agents at once, except for the measurement of rollouts. It uses three waves like the strategy
*careful*: one agent, a tenth, and the rest with at most a quarter at the same time. Without waiting times, the
difference from a commit for all agents at once is the cost of the decisions. The CPU time counts until the rollout
is complete. For the measurement of concurrent rollouts, the agents form up to 100 groups. Each group has a module and a
strategy of its own, and a commit changes the modules of all groups.

At the end the hub is killed, and its data is deleted except its settings, keys and fleet CA.
Then it is killed again, and its directory is restored from a backup that is older than all commits.
Each time a commit is made while the hub is stopped, and the time counts from its start. Each agent
checks that no assignment reuses the number of an earlier one: this never happened.

Hub and agents share the CPUs of this host, and the agents use the larger part:
CPU times and memory are more reliable than wall times. Agents allocate the memory that they
need, up to 16 GiB, before the measurement. No figure is extrapolated.

*TLS alone* is a program that only accepts the same number of connections, with certificates on both
sides. *The bus alone* is fettle's message bus with idle links. Both
return unused memory before it is measured; the hub does not.
Memory excludes the pages of the binary itself: all processes share them, and
the kernel decides how many it keeps. *Resident* includes them.

`

// row is a line of the table.
type row struct {
	what, asked string
	of          func(r result) string
}

// rows are the lines of the table.
func rows() []row { return slices.Concat(commitRows(), waveRows(), contactRows(), rebuildRows()) }

// commitRows are the lines about the idle hub and about commits.
func commitRows() []row {
	return []row{
		{"**memory of the hub per agent**, KB", "≤ 40",
			func(r result) string { return kilobytes(float64(r.memory-r.empty) / float64(r.n)) }},
		{"TLS alone, per connection, KB", "", func(r result) string { return kilobytes(r.tls.memory) }},
		{"the bus alone, per link, KB", "", func(r result) string { return kilobytes(r.bus.memory) }},
		{"resident memory of the hub, MB", "", func(r result) string { return megabytes(r.resident) }},
		{"memory of the hub before the first agent, MB", "", func(r result) string { return megabytes(r.empty) }},
		{"**CPU of the idle hub**, % of one", "", func(r result) string { return fmt.Sprintf("%.1f", 100*r.idle) }},
		{"**from a commit until the last agent has applied it**, s", "1,000 in 3, 10,000 in 20", func(r result) string {
			return seconds(middle(r.commits, func(c commit) time.Duration { return c.last }))
		}},
		{"until half of the agents have applied it, s", "",
			func(r result) string {
				return seconds(middle(r.commits, func(c commit) time.Duration { return c.middle }))
			}},
		{"until the hub's views show it for all agents, s", "",
			func(r result) string {
				return seconds(middle(r.commits, func(c commit) time.Duration { return c.known }))
			}},
		{"CPU of the hub for it, s", "", func(r result) string {
			return seconds(middle(r.commits, cpuOf))
		}},
		{"**durable reports per second**, meanwhile", "", func(r result) string {
			c := r.commits[len(r.commits)-1]
			return fmt.Sprintf("%.0f", c.reports/c.known.Seconds())
		}},
	}
}

// waveRows are the lines about rollouts.
func waveRows() []row {
	return []row{
		{"**from a commit until the first agent has applied it**, in waves, s", "≤ 2",
			func(r result) string {
				return seconds(middle(r.waves, func(c commit) time.Duration { return c.first }))
			}},
		{"**in waves without waiting times, until the last agent has applied it**, s", "",
			func(r result) string { return seconds(middle(r.waves, func(c commit) time.Duration { return c.last })) }},
		{"CPU of the hub for it, s", "",
			func(r result) string { return seconds(middle(r.waves, cpuOf)) }},
		{"**this CPU compared with a commit for all agents at once**, %", "≤ 125", func(r result) string {
			at, slow := middle(r.commits, cpuOf), middle(r.waves, cpuOf)
			return fmt.Sprintf("%.0f", 100*slow.Seconds()/max(at.Seconds(), 0.01))
		}},
		{"with the strategy careful, until the last agent has applied it, s", "",
			func(r result) string { return seconds(r.careful.last) }},
		{"CPU of the hub for it, s", "", func(r result) string { return seconds(r.careful.cpu) }},
		{"**in a separate rollout for each group of agents, all at the same time**, s", "",
			func(r result) string { return seconds(r.concurrent.last) }},
		{"CPU of the hub for it, s", "", func(r result) string { return seconds(r.concurrent.cpu) }},
		{"this CPU compared with the same commit for all agents at once, %", "", func(r result) string {
			return fmt.Sprintf("%.0f", 100*r.concurrent.cpu.Seconds()/max(r.together.cpu.Seconds(), 0.01))
		}},
	}
}

// contactRows are the lines about agents that reconnect.
func contactRows() []row {
	return []row{
		{"**after kill -9 and a start, until all agents are connected**, s", "≤ 60",
			func(r result) string { return seconds(r.again.last) }},
		{"until the hub answers, s", "", func(r result) string { return seconds(r.again.ready) }},
		{"agents in the busiest second", "", func(r result) string { return fmt.Sprint(r.again.busiest) }},
		{"failed attempts per agent", "", func(r result) string {
			return fmt.Sprintf("%.1f",
				float64(r.again.failed)/float64(r.n))
		}},
		{"of these, ended by the hub", "0", func(r result) string { return fmt.Sprint(r.again.refused) }},
		{"CPU of the hub for it, s", "", func(r result) string { return seconds(r.again.cpu) }},
		{"peak memory of the hub meanwhile, MB", "", func(r result) string { return megabytes(r.again.memory) }},
		{"**the same during an attack from other addresses**, s", "",
			func(r result) string { return seconds(r.besieged.last) }},
		{"attempts that the hub ended, per agent", "", func(r result) string {
			return fmt.Sprintf("%.1f", float64(r.besieged.refused)/float64(r.n))
		}},
		{"CPU of the hub for it, s", "", func(r result) string { return seconds(r.besieged.cpu) }},
		{"peak memory of the hub meanwhile, MB", "", func(r result) string { return megabytes(r.besieged.memory) }},
	}
}

// rebuildRows are the lines about a hub that lost its data, and about enrolment and the disk.
func rebuildRows() []row {
	return []row{
		{"**after the store was deleted, until all agents are in sync**, s", "1,000 in 60",
			func(r result) string { return seconds(r.lost.last) }},
		{"until the hub answers, s", "", func(r result) string { return seconds(r.lost.ready) }},
		{"until the hub's views show it for all agents, s", "", func(r result) string { return seconds(r.lost.known) }},
		{"CPU of the hub for it, s", "", func(r result) string { return seconds(r.lost.cpu) }},
		{"**after a restore from an old backup, until all agents are in sync**, s", "1,000 in 60",
			func(r result) string { return seconds(r.restored.last) }},
		{"until the hub answers, s", "", func(r result) string { return seconds(r.restored.ready) }},
		{"until the hub's views show it for all agents, s", "", func(r result) string { return seconds(r.restored.known) }},
		{"CPU of the hub for it, s", "", func(r result) string { return seconds(r.restored.cpu) }},
		{"TLS alone: all connected, s", "", func(r result) string { return seconds(r.tls.all) }},
		{"the bus alone: all connected, s", "", func(r result) string { return seconds(r.bus.all) }},
		{"**enrolments per second**", "", func(r result) string {
			return fmt.Sprintf("%.0f",
				float64(r.n)/r.enrol.Seconds())
		}},
		{"from the first connection until all agents are connected, s", "",
			func(r result) string { return seconds(r.met.last) }},
		{"until all agents are in sync, s", "", func(r result) string { return seconds(r.first) }},
		{"attempts that the hub ended", "0", func(r result) string { return fmt.Sprint(r.met.refused) }},
		{"CPU of the hub for it, s", "", func(r result) string { return seconds(r.met.cpu) }},
		{"peak memory of the hub meanwhile, MB", "", func(r result) string { return megabytes(r.met.memory) }},
		{"**disk of the hub per target**, KB", "≤ 8",
			func(r result) string { return kilobytes(float64(sum(r.disk)) / float64(r.n)) }},
	}
}

func cpuOf(c commit) time.Duration { return c.cpu }

// middle returns the median of a time of commits.
func middle(commits []commit, of func(commit) time.Duration) time.Duration {
	var all []time.Duration
	for _, c := range commits {
		all = append(all, of(c))
	}
	return median(all)
}

func kilobytes(b float64) string     { return fmt.Sprintf("%.1f", b/1024) }
func megabytes(b int64) string       { return fmt.Sprintf("%.0f", float64(b)/(1<<20)) }
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
	fmt.Fprintf(&t, introduction, s.modules, s.attackers)
	if s.short > 0 {
		fmt.Fprintf(&t, "A process may open %d files on this host. A hub opens one for each agent, and one more while the agent\nfetches content: this limits the largest fleet.\n\n", s.short)
	}
	line(&t, "", "goal", all, func(r result) string { return fmt.Sprintf("%d agents", r.n) })
	t.WriteString("|---|---|" + strings.Repeat("--:|", len(all)) + "\n")
	for _, w := range rows() {
		line(&t, w.what, w.asked, all, w.of)
	}
	t.WriteString("\n## Disk\n\nKB of the hub's directory per target, after the first assignment and the commits above, when the hub is idle. The\nlog of events grows until its bound; the other parts grow with the fleet.\n\n")
	parts := map[string]bool{}
	for _, r := range all {
		for p := range r.disk {
			parts[p] = true
		}
	}
	line(&t, "", "", all, func(r result) string { return fmt.Sprintf("%d agents", r.n) })
	t.WriteString("|---|---|" + strings.Repeat("--:|", len(all)) + "\n")
	for _, p := range slices.Sorted(maps.Keys(parts)) {
		line(&t, "`"+p+"`", about(p), all, func(r result) string { return kilobytes(float64(r.disk[p]) / float64(r.n)) })
	}
	t.WriteString("\n## Environment\n\n")
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
		"assignments": "the signed assignment of each target", "targets": "the registry",
		"names": "the target of each name", "log_events": "the log",
		"view": "the read model, made again from the log after a loss", "tokens": "spent uses of tokens",
		"content": "the modules", "mirror": "the git repository",
	}[p]
}
