package fire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// traces is a script of a package that leaves a word of each of its calls.
const traces = `echo "$DPKG_MAINTSCRIPT_PACKAGE $DPKG_MAINTSCRIPT_NAME $*" >>/var/lib/fire.log`

// addMoving adds what the campaign moves: two packages with two versions, of
// which one needs the other at its own, two that need each other so and come or
// go, one that brings another along, one that goes, and one that waits for a
// trigger of all of them.
func addMoving(t *testing.T, r *hosts.Repo) {
	for _, v := range []string{"1.0", "2.0"} {
		for name, needs := range map[string]string{"alpha": "", "beta": "alpha (= " + v + ")"} {
			r.Add(t, hosts.Deb{
				Name: name, Version: v, Depends: needs, Conffiles: []string{"/etc/" + name + ".conf"},
				Files: map[string]string{
					"/etc/" + name + ".conf": name + " " + v + "\n", "/usr/share/fire/" + name: v + "\n",
					"/usr/share/fire/" + name + "." + v: "only in " + v + "\n",
				},
				Preinst: traces, Postinst: traces, Prerm: traces, Postrm: traces,
			})
		}
	}
	r.Add(t, hosts.Deb{Name: "gamma", Version: "1.0", Depends: "delta",
		Files: map[string]string{"/usr/share/fire/gamma": "1.0\n"}, Postinst: traces})
	r.Add(t, hosts.Deb{Name: "delta", Version: "1.0", Files: map[string]string{"/usr/share/fire/delta": "1.0\n"},
		Postinst: traces})
	r.Add(t, hosts.Deb{
		Name: "omega", Version: "1.0", Files: map[string]string{"/usr/share/fire/omega": "1.0\n",
			"/etc/omega.conf": "omega\n"},
		Conffiles: []string{"/etc/omega.conf"}, Prerm: traces, Postrm: traces,
	})
	for name, needs := range map[string]string{"kappa": "", "lambda": "kappa (= 1.0)"} { // they come and go together
		r.Add(t, hosts.Deb{Name: name, Version: "1.0", Depends: needs,
			Files: map[string]string{"/usr/share/fire/" + name: "1.0\n"}, Postinst: traces, Prerm: traces, Postrm: traces})
	}
	r.Add(t, hosts.Deb{Name: "trigger", Version: "1.0", Postinst: traces,
		Control: map[string]string{"triggers": "interest /usr/share/fire\n"}})
}

// moving are the packages whose state a point is judged by.
func moving() []string {
	return []string{"alpha", "beta", "gamma", "delta", "kappa", "lambda", "omega", "trigger"}
}

// side is one of the two states between which the campaign moves.
type side struct {
	list     string
	versions map[string]string
}

func sides() [2]side {
	return [2]side{
		{`
package "alpha" { version = "1.0" }
package "beta" { version = "1.0" }
package "omega" {}
package "gamma" { ensure = "absent" }
package "delta" { ensure = "absent" }
package "kappa" {}
package "lambda" {}
package "trigger" {}
`, map[string]string{"alpha": "1.0", "beta": "1.0", "omega": "1.0", "kappa": "1.0", "lambda": "1.0", "trigger": "1.0"}},
		{`
package "alpha" { version = "2.0" }
package "beta" { version = "2.0" }
package "omega" { ensure = "absent" }
package "gamma" {}
package "kappa" { ensure = "absent" }
package "lambda" { ensure = "absent" }
package "trigger" {}
`, map[string]string{"alpha": "2.0", "beta": "2.0", "gamma": "1.0", "delta": "1.0", "trigger": "1.0"}},
	}
}

// point is where and how a transaction is broken.
type point struct {
	at     int
	who    victim
	policy string // of the run: undo or finish
	apply  bool   // the next apply settles it, not fettle recover
	to     int    // the side on the way to which it happens
}

func (p point) String() string {
	return fmt.Sprintf("to %d at %d, %s killed, on-crash %s", p.to, p.at, p.who, p.policy)
}

// points spreads n of them over the two ways of moving, whose lengths are
// given, with all kinds mixed.
func points(n int, lengths [2]int, apply bool) []point {
	victims := []victim{everybody, onlyDpkg, onlyFettle, onlyApt, onlyItself}
	out := make([]point, n)
	if apply { // so that the short form has all victims
		victims = []victim{onlyItself, onlyApt, everybody, onlyDpkg, onlyFettle}
	}
	for i := range out {
		to := (i + 1) % 2
		out[i] = point{
			at: 1 + (2*i+1)*(lengths[to]-1)/(2*n), who: victims[i%len(victims)], policy: []string{"undo", "finish"}[i/2%2],
			apply: apply, to: to,
		}
	}
	return out
}

func killedThenRecover(m *machine) { killed(m, false) }
func killedThenApply(m *machine)   { killed(m, true) }

// settler is the command that has to put right what was broken.
func settler(apply bool) string {
	if apply {
		return "fettle apply"
	}
	return "fettle recover"
}

// killed kills at points of transactions that install, upgrade, downgrade,
// remove and purge. After fettle recover, or after the next apply, every
// package is whole, at its old or its new version.
func killed(m *machine, apply bool) {
	s := sides()
	m.apply(success, s[0].list)
	n := 4
	if long() {
		n = 26
	}
	hit, lost, again := 0, 0, 0
	*m.unnoted = 0
	todo := sample.Pick(points(n, m.lengths(s), apply))
	for _, p := range todo {
		m.t.Run(p.String(), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					lost++
				}
			}()
			at, more := m.with(t).broken(p, s)
			hit += at
			again += more
		})
	}
	if n = len(todo); hit < n*3/4 {
		m.t.Errorf("only %d of %d points were reached", hit, n)
	}
	campaign.Record(m.t, campaign.Campaign{
		Name: "Packages", Variant: "killed in a transaction of apt, then " + settler(apply), Points: n, Hit: hit, Lost: lost,
		Detail: fmt.Sprintf("fettle, apt-get, dpkg, a script or all of them are killed at a system call; the run installs, upgrades, downgrades and removes packages that need each other at one version; recovered without a manual command; each package is complete at its old or new version with its mark, and dpkg reports no problem; applied (%d second kills; %d configuration files that dpkg had replaced but not recorded, and reports as modified)", again, *m.unnoted),
	})
}

// lengths counts the points of both ways, and comes back to the first side.
func (m *machine) lengths(s [2]side) (out [2]int) {
	for _, to := range []int{1, 0} {
		m.only(s[to].list)
		o, points := m.traced(0, everybody, "apply", "--yes")
		if o.code != success || len(points) < 100 {
			m.t.Fatalf("%d points\n%s", len(points), o.text)
		}
		m.t.Logf("to side %d: %d points, for example\n%s", to, len(points), strings.Join(example(points, 40), "\n"))
		out[to] = len(points)
		m.whole(s[to], s[to])
	}
	return out
}

func example(all []string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, all[i*len(all)/n])
	}
	return out
}

// broken kills at one point, and perhaps once more while that is settled, and
// judges what settling it led to. Then it goes to the other side.
func (m *machine) broken(p point, s [2]side) (hit, again int) {
	m.only(s[p.to].list)
	o, at := m.traced(p.at, p.who, "apply", "--yes", "--on-crash", p.policy, "--on-failure",
		map[string]string{"undo": "undo", "finish": "stop"}[p.policy])
	m.t.Logf("%s => %d\n%s", at, o.code, o.text)
	if o.code == failed || o.code == rolledBack {
		m.told(o)
	}
	if !p.apply {
		again = m.settle(p, s, o)
	}
	if first := m.run(argv("apply", "--yes")...); first.code != success { // one step further, and told
		m.t.Logf("apply => %d\n%s", first.code, first.text)
		m.told(first)
		m.fettle(success, "apply", "--yes")
	}
	m.whole(s[p.to], s[p.to])
	if at[0] != "" {
		hit = 1
	}
	return hit, again
}

// settle has fettle recover put right what was broken, which here is always
// possible: the archive can be reached, and no script fails.
func (m *machine) settle(p point, s [2]side, o output) (again int) {
	text := o.text
	if o.code < 0 && p.at%3 > 0 {
		second, at := m.traced(1+p.at*7%400, p.who, "recover")
		m.t.Logf("recover, %s => %d\n%s", at, second.code, second.text)
		text += second.text
		if at[0] != "" {
			again = 1
		}
	}
	rec := m.run(argv("recover")...)
	m.t.Logf("recover => %d\n%s", rec.code, rec.text)
	if rec.code != success {
		m.t.Errorf("fettle recover ends with %d", rec.code)
	}
	m.told(rec)
	m.whole(s[0], s[1])
	if strings.Contains(text+rec.text, "everything is as it was before") {
		m.whole(s[1-p.to], s[1-p.to])
	}
	return again
}

// told demands of a run that failed that it names each package that dpkg is not
// done with.
func (m *machine) told(o output) {
	m.t.Helper()
	for line := range strings.Lines(m.Run(m.t, "dpkg-query", "-W", "-f", "${db:Status-Abbrev}|${Package}\n")) {
		abbrev, name, _ := strings.Cut(strings.TrimSpace(line), "|")
		if !slices.Contains([]string{"ii", "rc", "un", "hi"}, strings.TrimSpace(abbrev)) &&
			!strings.Contains(o.text, name+" ") {
			m.t.Errorf("the run does not say that %s is %q:\n%s", name, abbrev, o.text)
		}
	}
}

// exchanged tells whether the configuration file of a package is that of its
// other version: dpkg was killed after it had put it there and before it noted
// that, and takes it for an edited one since. It is counted and mended.
func (m *machine) exchanged(name, version string) bool {
	m.t.Helper()
	other := map[string]string{"1.0": "2.0", "2.0": "1.0"}[version]
	file := "/etc/" + name + ".conf"
	if other == "" || m.Exec("cat", file).Stdout != name+" "+other+"\n" {
		return false
	}
	m.WriteFile(m.t, file, name+" "+version+"\n", 0o644)
	*m.unnoted++
	return true
}

// whole demands that every package is as on one of two sides, and its files too.
func (m *machine) whole(a, b side) {
	m.t.Helper()
	m.clean()
	for _, name := range moving() {
		got := m.status(name)
		want := []string{"", "un", "rc 1.0"} // what is not there may have left its name or its configuration
		for _, v := range []string{a.versions[name], b.versions[name]} {
			if v != "" {
				want = append(want, "ii "+v)
			}
		}
		if a.versions[name] != "" && b.versions[name] != "" {
			want = want[3:]
		}
		if !slices.Contains(want, strings.Replace(got, "  ", " ", 1)) {
			m.t.Errorf("%s is %q, want one of %q", name, got, want)
		}
		if !m.exchanged(name, strings.TrimPrefix(strings.Replace(got, "  ", " ", 1), "ii ")) {
			m.want("", "sh", "-c", "dpkg --verify "+name+" 2>/dev/null; true")
		}
		_, version, _ := strings.Cut(got, " ")
		if strings.HasPrefix(got, "ii") && name != "trigger" {
			m.want(strings.TrimSpace(version), "cat", "/usr/share/fire/"+name)
		}
	}
	m.want("", "sh", "-c", "find /usr/share/fire /etc -name '*.dpkg-*' -not -name '*.dpkg-old'")
}
