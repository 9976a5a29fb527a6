package apply_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/test/sample"
)

// scenario is one run to break, on a machine where another may have run before.
type scenario struct{ name, first, second string }

const paths1 = `MKDIR /srv/www mode=0750
COPY a1 /srv/www/a mode=0640
COPY b1 /srv/www/b
LINK a /srv/www/l owner=bob
COPY u1 /srv/updated mode=0644
COPY same /srv/same mode=0600 owner=bob
META /srv/theirs mode=0600 owner=bob
RM /srv/old-file
RM /srv/tree
MKDIR /srv/f2d
COPY f /srv/f2d/in
LINK a /srv/f2l
COPY f /srv/d2f
LINK a /srv/d2l
COPY f /srv/l2f
EDIT /etc/hosts block=web content="10.0.0.1 web\n"
EDIT /etc/sysctl.conf key=vm.x value=2
EDIT /etc/new line=one create=true
MKDIR /srv/purged purge=true
COPY good_1 /etc/checked validate="check %s"
COPY good_2 /etc/placed validate="check /etc/placed"
`

const paths2 = `MKDIR /srv/www mode=0700 owner=bob
COPY a2 /srv/www/a mode=0640
LINK c /srv/www/l owner=bob
COPY c2 /srv/www/c
COPY f /srv/f2d
MKDIR /srv/d2f
COPY f /srv/d2f/in
LINK z /srv/l2f
COPY same /srv/same mode=0644
EDIT /etc/hosts block=web content="10.0.0.2 web\n"
EDIT /etc/sysctl.conf key=vm.x value=3
MKDIR /srv/tree
COPY n /srv/tree/a
COPY good_3 /etc/placed validate="check /etc/placed"
`

const newTree = `MKDIR /srv/t mode=0750 owner=bob
MKDIR /srv/t/a
LINK b/f /srv/t/a/l
MKDIR /srv/t/a/b mode=0555
COPY f1 /srv/t/a/b/f mode=0640
COPY f2 /srv/t/f owner=bob
`

const movers1 = `GROUP deploy gid=1600
USER alice uid=1600 group=deploy create_home=true
USER carol uid=1700
MEMBER alice adm
COPY k /home/alice/key owner=alice group=deploy mode=0600
PKG web version=1
PKG tool
UNIT app.service enabled=true active=true
COPY conf1 /etc/app.conf
ACT run load /usr/bin/load on=file:/etc/app.conf
ACT restart app.service on=file:/etc/app.conf
EXEC makedb /usr/bin/makedb creates=/srv/db undo=/usr/bin/dropdb
COPY after /etc/after
`

const movers2 = `GROUP deploy gid=1600
GROUP extra gid=1601
USER bob uid=1000 shell=/bin/bash
PKG web version=2
UNIT app.service masked=true active=false
COPY conf2 /etc/app.conf
ACT run load /usr/bin/load on=file:/etc/app.conf
EDIT /etc/hosts line="10.0.0.9 nine"
`

// Packages that need one another at one version: each way is one transaction.
const (
	tied1 = "PKG base version=1\nPKG client version=1\nPKG tool\n"
	tied2 = "PKG base version=2\nPKG client version=2\nPKG plugin\nPKG tool ensure=absent\n"
)

// Three regions of one file, two of them in one run, one after the other.
const (
	edits1 = "EDIT /etc/hosts line=\"10.0.0.8 eight\"\n"
	edits2 = "EDIT /etc/hosts block=web content=\"10.0.0.1 web\\n\"\nCOPY m /srv/m\n"
)

func scenarios() []scenario {
	var many strings.Builder
	for i := range 20 {
		fmt.Fprintf(&many, "COPY m%d /srv/many%d\n", i, i)
	}
	many.WriteString("COPY u3 /srv/updated\nMETA /srv/theirs mode=0700\n")
	return []scenario{
		{"paths", "", paths1}, {"paths again", paths1, paths2},
		{"paths away", paths1, "COPY f /srv/f2d/in\nMKDIR /srv/f2d\n"},
		{"many paths", "", many.String()}, {"new tree", "", newTree}, {"one file", edits1, edits2},
		{"secrets", "", secrets1}, {"secrets again", secrets1, secrets2},
		{"secret regions", cut1, cut2},
		{"tied", "", tied1}, {"tied again", tied1, tied2}, {"tied away", tied2, "PKG tool\n"},
		{"movers", "", movers1}, {"movers again", movers1, movers2},
		{"movers away", movers1, "COPY conf3 /etc/app.conf\nACT run load /usr/bin/load on=file:/etc/app.conf\n"},
	}
}

// small is the number of operations of a run below which its recovery is cut at
// each of its own.
const small = 100

// bench is a scenario ready to be broken: the world after its first run, and
// the pictures of it at all three moments.
type bench struct {
	scenario
	base           *world
	origin, before picture
	after          picture
	runs           int // before the run that is broken
	units          bool
	ops            int // mutating operations of the run
}

func setUp(t *testing.T, s scenario, units bool, breaker func(host.FS) host.FS) *bench {
	t.Helper()
	b := &bench{scenario: s, base: newWorld(t), units: units}
	b.origin = b.base.picture(t, units)
	if s.first != "" {
		if _, err := b.base.apply(t, s.first, executor.Options{}); err != nil {
			t.Fatalf("the first run: %v", err)
		}
		b.runs = 1
	}
	b.base = b.base.copy()
	b.before = b.base.picture(t, units)
	w := b.base.copy()
	var rec fault.Recorder
	w.tap.count = rec.Count
	_, err := w.apply(t, s.second, executor.Options{})
	w.tap.count = nil
	if err != nil {
		t.Fatalf("the second run: %v", err)
	}
	b.after, b.ops = w.picture(t, units), rec.N()
	if bad := b.after.differs(false, b.after); len(bad) > 0 {
		t.Fatalf("a run leaves temporaries: %s", bad)
	}
	b.base.breaker = breaker
	return b
}

// loaded tells whether the daemon runs with the configuration that is there.
func loaded(w *world) string {
	conf, _ := read(w.h, "/etc/app.conf")
	have, err := read(w.h, "/run/loaded")
	if err == nil && have != conf {
		return fmt.Sprintf("the daemon runs with %q, %q is configured", have, conf)
	}
	return ""
}

// settled finds what is wrong with a world whose broken run has been recovered:
// it must be all old or all new.
func (b *bench) settled(t testing.TB, w *world) []string {
	if bad := w.tells(t); len(bad) > 0 {
		return bad
	}
	got := w.picture(t, b.units)
	old, new := got.differs(true, b.before), got.differs(false, b.after)
	switch {
	case len(old) > 0 && len(new) > 0 && len(old) < len(new):
		return append(old, loaded(w))
	case len(old) > 0 && len(new) > 0:
		return append(new, loaded(w))
	}
	if bad := loaded(w); bad != "" {
		return []string{bad}
	}
	return nil
}

// goesOn finds what is wrong with going on from a settled world: the list can
// be applied, and undone to the run before and to the origin.
func (b *bench) goesOn(t testing.TB, w *world) []string {
	if _, err := w.apply(t, b.second, executor.Options{}); err != nil {
		return []string{"applying it again: " + err.Error()}
	}
	if bad := w.picture(t, b.units).differs(false, b.after); len(bad) > 0 {
		return append([]string{"after applying it again:"}, bad...)
	}
	if bad := loaded(w); bad != "" {
		return []string{"after applying it again: " + bad}
	}
	if b.runs > 0 {
		if err := w.rollback(b.runs); err != nil {
			return []string{"rolling back: " + err.Error()}
		}
		if bad := w.picture(t, b.units).differs(true, b.before); len(bad) > 0 {
			return append([]string{"after rolling back:"}, bad...)
		}
	}
	if err := w.rollback(0); err != nil {
		return []string{"rolling back to the origin: " + err.Error()}
	}
	if bad := w.picture(t, b.units).differs(true, b.origin); len(bad) > 0 {
		return append([]string{"at the origin:"}, bad...)
	}
	return nil
}

// tally counts what a campaign tried.
type tally struct{ points, second, bad int }

func (n *tally) report(t testing.TB, where string, bad []string) {
	if n.bad++; n.bad <= 5 {
		t.Errorf("%s:\n\t%s", where, strings.Join(bad, "\n\t"))
	}
}

func TestPowerCut(t *testing.T) {
	for _, s := range sample.Pick(scenarios()) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, s, false, nil)
			n := b.cutEverywhere(t, 1)
			t.Logf("%d operations, %d power cuts, %d more inside recovery, %d torn or lost", b.ops, n.points, n.second, n.bad)
			if n.second*3 < n.points { // where little is to be recovered, less can be cut
				t.Errorf("only %d of %d recoveries were cut", n.second, n.points)
			}
		})
	}
}

// cutEverywhere cuts the power before each operation of the run, and at a place
// of the dice inside recovery.
func (b *bench) cutEverywhere(t testing.TB, dice int) tally {
	t.Helper()
	var worlds []*world
	var where []string
	w := b.base.copy()
	ops := 0
	w.tap.count = func(op, path string) error {
		if ops++; ops%stride != 0 {
			return nil
		}
		for d := range dice {
			worlds = append(worlds, w.crash(rand.New(rand.NewPCG(uint64(len(worlds)), uint64(d)))))
			where = append(where, fmt.Sprintf("before operation %d (%s %s), dice %d", ops, op, path, d))
		}
		return nil
	}
	_, err := w.apply(t, b.second, executor.Options{})
	w.tap.count = nil
	must(t, err)
	var n tally
	for i, cut := range worlds {
		for k, policy := range []string{"undo", "finish"} {
			n.points++
			if bad := b.recoverAll(t, cut.copy(), policy, uint64(2*i+k), &n); len(bad) > 0 {
				n.report(t, where[i]+", then "+policy, bad)
			}
		}
	}
	return n
}

// recoverAll recovers a world, with a second power cut inside, and goes on.
func (b *bench) recoverAll(t testing.TB, w *world, policy string, dice uint64, n *tally) []string {
	rng := rand.New(rand.NewPCG(dice, 99))
	o := executor.Options{OnCrash: policy}
	at, seen := 1+rng.IntN(15), 0
	var again []*world
	first := w.copy()
	w.tap.count = func(string, string) error {
		if seen++; seen == at || b.ops < small {
			again = append(again, first.crash(rng))
		}
		return nil
	}
	how, err := first.recovered(o)
	w.tap.count = nil
	if err != nil {
		return []string{"recovery: " + err.Error()}
	}
	if bad := b.settled(t, first); len(bad) > 0 {
		return append(bad, how)
	}
	for k, cut := range again {
		if b.ops < small {
			at = k + 1
		}
		n.second++
		if how, err = cut.recovered(o); err != nil {
			return []string{fmt.Sprintf("recovery after a cut before its operation %d: %v", at, err)}
		}
		if bad := b.settled(t, cut); len(bad) > 0 {
			return append([]string{fmt.Sprintf("after a cut before operation %d of recovery:", at)}, append(bad, how)...)
		}
		first = cut
	}
	if dice%4 != 0 {
		return nil
	}
	return b.goesOn(t, first)
}

// recovered is recover where nobody else has touched anything: a run that cannot
// be settled is an error, though all may be as it was.
func (w *world) recovered(o executor.Options) (string, error) {
	how, err := w.recover(o)
	if err == nil && (strings.HasPrefix(how, string(journal.Failed)) ||
		strings.HasPrefix(how, string(journal.Interrupted))) {
		err = errors.New(how)
	}
	return how, err
}

func (b *bench) afterFault(t *testing.T, w *world, o executor.Options, n *tally) []string {
	if _, err := w.recover(executor.Options{}); err != nil {
		return []string{"recovery: " + err.Error()}
	}
	got := w.picture(t, b.units)
	several := []string{"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "unit:app"}
	if b.first == edits1 {
		several = append(several, "/etc/hosts")
	}
	for _, file := range several {
		if o.OnFailure == "stop" { // some of several addresses in one: going on will tell
			got.at[file] = b.after.at[file]
		}
	}
	if bad := got.differs(false, b.before, b.after); len(bad) > 0 {
		return bad
	}
	old, new := got.differs(true, b.before), got.differs(false, b.after)
	if o.OnFailure == "undo" && len(old) > 0 && len(new) > 0 {
		return append([]string{"neither undone nor done:"}, old...)
	}
	if n.points%3 != 0 {
		return nil
	}
	return b.goesOn(t, w)
}

// noSync is a file system whose directories and whole are never synced.
type noSync struct{ host.FS }

func (noSync) SyncDir(string) error { return nil }
func (noSync) SyncFS(string) error  { return nil }

// TestCampaignCanFail takes the barriers away: then the campaign must find
// torn or lost addresses.
func TestCampaignCanFail(t *testing.T) {
	for _, s := range scenarios() {
		if s.name != "many paths" && s.name != "paths again" {
			continue
		}
		b := setUp(t, s, false, func(f host.FS) host.FS { return noSync{f} })
		n := b.cutEverywhere(quiet{t}, 1)
		t.Logf("%s: without barriers %d of %d points are torn or lost", s.name, n.bad, n.points)
		if n.bad*5 < n.points {
			t.Errorf("%s: only %d of %d points fail without barriers", s.name, n.bad, n.points)
		}
	}
}

// quiet keeps what a campaign reports to itself.
type quiet struct{ *testing.T }

func (quiet) Errorf(string, ...any) {}
