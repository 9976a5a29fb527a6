package apply_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// rescued is a list of which a block of four states fails at the third; a rescue
// action runs for it, something comes after it, and other things do not.
const rescued = `COPY a /etc/app.conf
ACT run load /usr/bin/load on=file:/etc/app.conf
EXEC makedb /usr/bin/makedb creates=/srv/db undo=/usr/bin/dropdb
COPY bad /etc/checked validate="check %s"
COPY rest /srv/rest
COPY behind /srv/behind
ACT run undo /usr/bin/load on_failure=file:/etc/app.conf on_failure=exec:makedb on_failure=file:/etc/checked on_failure=file:/srv/rest rescue=block.x behind=file:/srv/behind
COPY aside /srv/aside
PKG tool
ACT run other /usr/bin/load on=file:/etc/app.conf
CHECK there file=/srv/aside within=1ms
`

// applied are the addresses that are applied.
func (w *world) applied(t *testing.T) []addr.Addr {
	t.Helper()
	x, err := w.open()
	must(t, err)
	st, err := x.Status(t.Context())
	must(t, err)
	var out []addr.Addr
	for _, e := range st.State.Entries {
		out = append(out, e.Addr)
	}
	return out
}

// truthful finds what is wrong after a run of rescued that went on to its end.
func (w *world) truthful(t *testing.T) []string {
	t.Helper()
	var bad []string
	for p, want := range map[string]string{"/etc/app.conf": "a", "/srv/db": "made", "/etc/checked": "good origin",
		"/srv/aside": "aside", "/srv/rest": "", "/srv/behind": ""} {
		if got, _ := read(w.h, p); got != want {
			bad = append(bad, p+" holds "+got)
		}
	}
	if got := w.applied(t); !slices.Equal(got, []addr.Addr{"file:/etc/app.conf", "exec:makedb", "file:/srv/aside",
		"pkg:tool"}) {
		bad = append(bad, "applied is "+strings.Join(strs(got), " "))
	}
	return bad
}

func strs(list []addr.Addr) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = string(a)
	}
	return out
}

// TestRescuedBlock: the run goes on without the rest of the block and what comes
// after it, says so, has failed, and holds nothing applied that it did not reach.
func TestRescuedBlock(t *testing.T) {
	w := newWorld(t)
	rep, err := w.apply(t, rescued, executor.Options{})
	if err == nil || rep.Outcome != journal.Failed || rep.Failed == nil || rep.Failed.Addr != "file:/etc/checked" ||
		len(rep.Checks) > 0 {
		t.Fatalf("%v, %+v", err, rep)
	}
	if !rep.InPart() || len(rep.Rescued) != 1 || !strings.Contains(err.Error(), "only partly done") {
		t.Errorf("%v, %+v", err, rep)
	}
	says(t, rep, "block.x failed and was rescued", "act:run/undo ran, notified by the failure of file:/etc/checked")
	if got, want := strs(rep.Remaining), []string{"file:/etc/checked", "file:/srv/rest", "file:/srv/behind",
		"act:run/other", "check:there"}; !slices.Equal(got, want[1:]) {
		t.Errorf("not reached: %q", got)
	}
	if bad := w.truthful(t); len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
	if rep, err = w.apply(t, strings.Replace(rescued, "COPY bad", "COPY good", 1), executor.Options{}); err != nil ||
		len(rep.Remaining) > 0 {
		t.Errorf("%v, %+v", err, rep)
	}
	w.holds(t, "/srv/behind", "behind")
}

// TestRescueThatIsNone: a run stops at the failure where the rescue fails too,
// where nothing rescues, and is undone where it was asked to.
func TestRescueThatIsNone(t *testing.T) {
	for _, list := range []string{
		strings.Replace(rescued, "undo /usr/bin/load", "undo /usr/bin/none", 1),
		strings.Replace(rescued, " rescue=block.x behind=file:/srv/behind", "", 1),
		strings.Replace(rescued, "CHECK", "ACT run more /usr/bin/none on_failure=file:/etc/checked rescue=block.x\nCHECK", 1),
	} {
		w := newWorld(t)
		rep, err := w.apply(t, list, executor.Options{})
		if there, _ := host.Exists(w.h, "/srv/aside"); err == nil || there || rep.Outcome != journal.Failed {
			t.Errorf("it went on: %v, %+v\n%s", err, rep, list)
		}
	}
	w := newWorld(t)
	before := w.picture(t, true)
	rep, err := w.apply(t, rescued, executor.Options{OnFailure: "undo"})
	if err == nil || rep.Outcome != journal.RolledBack {
		t.Errorf("%v, %+v", err, rep)
	}
	if bad := w.picture(t, true).differs(false, before); len(bad) > 0 {
		t.Error(strings.Join(bad, "\n"))
	}
}

// TestEveryCutOfRescue: whatever operation the power goes at, also in recovery, the
// run is undone whole, or ends as it would have.
func TestEveryCutOfRescue(t *testing.T) {
	w := newWorld(t).copy()
	before := w.picture(t, true)
	points, again, every := 0, 0, 16*stride
	if long() {
		every = 1
	}
	settled := func(c *world, policy string) {
		points++
		how, err := c.recover(executor.Options{OnCrash: policy})
		if err != nil {
			t.Errorf("point %d, %s: %s: %v", points, policy, how, err)
			return
		}
		old := c.picture(t, true).differs(false, before)
		if len(old) == 0 {
			return
		}
		bad := c.truthful(t)
		if policy == "undo" && !strings.HasPrefix(how, "nothing to recover") {
			bad = old
		}
		if len(bad) > 0 {
			t.Errorf("point %d, %s: %s\n%s", points, policy, how, strings.Join(bad, "\n"))
		}
	}
	cuts := w.cutAll(func(w *world) { _, _ = w.apply(t, rescued, executor.Options{}) })
	for i, cut := range cuts {
		if i%stride != 0 {
			continue
		}
		for _, policy := range []string{"undo", "finish"} {
			settled(cut.copy(), policy)
			if i%every != 0 {
				continue
			}
			for _, c := range cut.copy().cutAll(func(w *world) { _, _ = w.recover(executor.Options{OnCrash: policy}) }) {
				again++
				settled(c, policy)
			}
		}
	}
	t.Logf("%d operations, %d points, %d of them inside recovery", len(cuts), points, again)
	if len(cuts) < 60 || again < len(cuts)/every {
		t.Errorf("only %d operations, %d cuts inside recovery", len(cuts), again)
	}
}

// cutAll gives the world as a power cut before each operation leaves it.
func (w *world) cutAll(do func(*world)) (worlds []*world) {
	w.tap.count = func(string, string) error {
		worlds = append(worlds, w.crash(rand.New(rand.NewPCG(uint64(len(worlds)), 7))))
		return nil
	}
	do(w)
	w.tap.count = nil
	return worlds
}

// TestMachineRescues: what is in the block or behind it is barred, and checks are;
// what is done stays done, and a second failure adds to the first.
func TestMachineRescues(t *testing.T) {
	lines := []string{"EXEC a true", "EXEC b true", "EXEC c true", "EXEC d true", "EXEC e true", "EXEC f true",
		"CHECK k file=/etc"}
	list, ds := step.Parse("list", []byte(strings.Join(lines, "\n")+"\n"+
		"ACT run x true on_failure=exec:a on_failure=exec:b on_failure=exec:c rescue=block.x behind=exec:e\nACT run y true on_failure=exec:d rescue=block.y\n"))
	must(t, ds.Err())
	p := &plan.Plan{}
	for _, line := range lines {
		p.Changes = append(p.Changes, change(t, plan.Run, line, "", ""))
	}
	p.Changes[6].Action = plan.Verify
	m := apply.NewMachine(p, list, nil)
	statuses := func() (s string) {
		for i := range p.Changes {
			s += string("DdfsuxB"[m.Status(i)])
		}
		return s
	}
	m.Set(0, apply.Done)
	m.Set(1, apply.Failed)
	if blocks := m.Rescue(1); !slices.Equal(blocks, []string{"block.x"}) || statuses() != "dfBDBDB" {
		t.Errorf("%v, %s", blocks, statuses())
	}
	if m.Rescue(1); statuses() != "dfBDBDB" || !m.AllBarred([]addr.Addr{"exec:a", "exec:e"}) ||
		m.AllBarred([]addr.Addr{"exec:a", "exec:d"}) {
		t.Errorf("%s", statuses())
	}
	m.Set(3, apply.Failed)
	if blocks := m.Rescue(3); !slices.Equal(blocks, []string{"block.y"}) || statuses() != "dfBfBDB" {
		t.Errorf("%v, %s", blocks, statuses())
	}
	if op, next := m.Next(); op != apply.OpMove || !slices.Equal(next, []int{5}) {
		t.Errorf("next is %d %v", op, next)
	}
}
