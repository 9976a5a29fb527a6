package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// graphSize is how many packages a random archive has.
const graphSize = 9

// graph publishes a random archive of small packages whose dependencies have no cycles. With
// conflicts, packages conflict with others, break and replace them, and compete for a role.
func graph(t *testing.T, repo *hosts.Repo, rng *rand.Rand, conflicts bool) {
	kinds := 9
	if conflicts {
		kinds = 11
	}
	for i := range graphSize {
		fields := map[string]string{}
		relation := map[string][]string{}
		if conflicts {
			compete(relation, rng)
		}
		for j := range i {
			switch rng.IntN(kinds) {
			case 0, 1, 2:
				relation["Depends"] = append(relation["Depends"], node(j))
			case 3:
				relation["Recommends"] = append(relation["Recommends"], node(j))
			case 4:
				relation["Suggests"] = append(relation["Suggests"], node(j))
			case 9:
				relation["Conflicts"] = append(relation["Conflicts"], node(j))
			case 10:
				relation["Breaks"] = append(relation["Breaks"], node(j))
				relation["Replaces"] = append(relation["Replaces"], node(j))
			}
		}
		for key, list := range relation {
			fields[key] = strings.Join(list, ", ")
		}
		depends := fields["Depends"]
		delete(fields, "Depends")
		repo.Add(t, hosts.Deb{Name: node(i), Version: "1", Depends: depends, Fields: fields})
	}
	repo.Publish(t)
}

// compete lets a package have a role that only one package can have, as mail servers do, or
// need the package that has it.
func compete(relation map[string][]string, rng *rand.Rand) {
	switch rng.IntN(4) {
	case 0:
		for _, key := range []string{"Provides", "Conflicts", "Replaces"} {
			relation[key] = []string{"role"}
		}
	case 1:
		relation["Recommends"] = []string{"role"}
	}
}

func node(i int) string { return fmt.Sprintf("node%d", i) }

// seen is what apt and dpkg say of the packages of a graph.
type seen struct{ installed, auto, held, unneeded map[string]bool }

func (m *machine) packagesSeen() seen {
	m.t.Helper()
	set := func(argv ...string) map[string]bool {
		out := map[string]bool{}
		for _, line := range strings.Split(m.Run(m.t, argv...), "\n") {
			if f := strings.Fields(line); len(f) > 0 && strings.HasPrefix(f[len(f)-1], "node") {
				out[f[len(f)-1]] = true
			}
		}
		return out
	}
	s := seen{
		installed: set("sh", "-c", `dpkg-query -W -f '${db:Status-Status} ${Package}\n' | grep '^installed '`),
		auto:      set("apt-mark", "showauto"), held: set("apt-mark", "showhold"),
		unneeded: set("sh", "-c", "apt-get -s autoremove | sed -n 's/^Remv \\([^ ]*\\).*/\\1/p'"),
	}
	if r := m.Exec("apt-get", "check"); r.ExitCode != 0 {
		m.t.Errorf("apt-get check: %s", r.Stderr)
	}
	if out := m.Run(m.t, "dpkg", "--audit"); out != "" {
		m.t.Errorf("dpkg --audit: %s", out)
	}
	return s
}

// TestRandomDependencies: random dependencies, marks and holds, judged by apt and dpkg. A
// removal takes along only what apt calls unneeded and nobody wants, marked or held, and
// leaves nothing unneeded that fettle brought. Each package that goes because of a conflict
// is named, and an immediate rollback restores the packages and their marks.
func TestRandomDependencies(t *testing.T) {
	t.Parallel()
	graphs, rounds := 2, 8 // every second graph has conflicts
	if os.Getenv("FETTLE_LONG") != "" {
		graphs, rounds = 12, 60
	}
	for g := range graphs {
		t.Run(fmt.Sprint(g), func(t *testing.T) {
			sample.Group(t, 2*g, 2*g+8)
			rng := rand.New(rand.NewPCG(uint64(g), 4))
			repo := hosts.NewRepo(t)
			graph(t, repo, rng, g%2 == 1)
			m := newMachine(t, hosts.NewWorld(t), fmt.Sprintf("random%d", g), repo)
			m.Run(t, "mkdir", "-p", repository)
			newHistory(m, rng).play(rounds + g%2*4) // the second graph first has a conflict in round 10
		})
	}
}

// history is what a test does to a machine, and what it has to remember for its judgement.
type history struct {
	*machine
	rng     *rand.Rand
	managed map[string]bool // that a list wanted since they came
	brought map[string]bool // that came with a run of fettle
	foreign map[string]bool // that went because of a conflict, and that fettle had not brought
	settled bool            // the last run reached what its list demands
	said    []string
}

func newHistory(m *machine, rng *rand.Rand) *history {
	none := func() map[string]bool { return map[string]bool{} }
	return &history{machine: m, rng: rng, managed: none(), brought: none(), foreign: none(), settled: true}
}

func (h *history) play(rounds int) {
	h.t.Helper()
	defer func() {
		if h.t.Failed() {
			h.t.Logf("history:\n%s", strings.Join(h.said, "\n"))
		}
	}()
	for range rounds {
		h.administer()
		h.run()
		if h.t.Failed() {
			return
		}
	}
}

// administer does what an administrator may do: marks, holds, an installation.
func (h *history) administer() {
	name := node(h.rng.IntN(graphSize))
	argv := []string{"apt-mark", []string{"manual", "auto", "hold", "unhold"}[h.rng.IntN(4)], name}
	switch h.rng.IntN(6) {
	case 0:
		argv = []string{"apt-get", "install", "-y", "--no-install-recommends", name}
	case 1, 2:
		return
	}
	now := h.packagesSeen()
	if argv[0] == "apt-mark" && !now.installed[name] {
		return
	}
	h.said = append(h.said, strings.Join(argv, " "))
	h.Exec(argv...) // apt may refuse
	if argv[0] == "apt-get" {
		for n := range h.packagesSeen().installed {
			if !now.installed[n] {
				delete(h.brought, n)
			}
		}
	}
}

// run applies a random list, or goes back, and judges.
func (h *history) run() {
	h.t.Helper()
	before, wanted := h.packagesSeen(), map[string]bool{}
	var list strings.Builder
	argv := []string{"steps", "apply", "list.steps", "--yes"}
	if h.rng.IntN(5) == 0 {
		argv = []string{"rollback", "origin", "--yes", "--skip-blocked"}
	} else {
		for i := range graphSize {
			if h.rng.IntN(3) == 0 {
				wanted[node(i)] = true
				fmt.Fprintf(&list, "PKG %s\n", node(i))
			}
		}
		h.write(map[string]string{"fettle.hcl": "", "list.steps": list.String()})
	}
	possible := h.possible(wanted)
	o := h.act(argv, list.String())
	maps.Copy(h.managed, wanted)
	after := h.packagesSeen()
	h.judge(before, after, verdict{wanted, o.ExitCode == 0, !possible, argv[0] == "rollback", o.Stdout + o.Stderr})
	if argv[0] == "rollback" && o.ExitCode == 0 {
		clear(h.brought) // what stays was marked, held or needed by an administrator
	}
	settled := h.settled
	h.settled = o.ExitCode == 0
	changed := !maps.Equal(before.installed, after.installed)
	if argv[0] == "steps" && h.settled && settled && changed && h.rng.IntN(3) == 0 {
		h.back(before, after)
	}
}

// act runs fettle and records what it did.
func (h *history) act(argv []string, list string) hosts.Result {
	o := h.Exec(append([]string{"env", "-C", repository, "fettle"}, argv...)...)
	h.said = append(h.said, fmt.Sprintf("fettle %s  [%s] => %d\n%s%s%v", strings.Join(argv, " "),
		strings.ReplaceAll(list, "\n", " "), o.ExitCode, o.Stdout, o.Stderr, h.packagesSeen()))
	return o
}

// possible asks apt whether all these packages can be installed together, without held
// packages that would have to go.
func (h *history) possible(wanted map[string]bool) bool {
	names := slices.Sorted(maps.Keys(wanted))
	if len(names) == 0 {
		return true
	}
	return h.Exec(append([]string{"apt-get", "-s", "-y", "install"}, names...)...).ExitCode == 0
}
