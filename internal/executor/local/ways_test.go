package local_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
)

// twin is the same machine once more, with an engine that knows nothing yet.
func (w *world) twin() *world {
	w.t.Helper()
	m := w.h.(*mem.Host)
	w.must(m.SyncFS("/"))
	c := m.Crash(rand.New(rand.NewPCG(0, 0)))
	v := &world{t: w.t, ops: &fault.Recorder{}, hits: &touches{}, fake: true, h: c, aside: c,
		state: mem.New(mem.Options{})}
	var err error
	v.x, err = local.New(c, v.state, local.Options{Now: time.Now, Ballast: -1})
	w.must(err)
	return v
}

// spoken is a snapshot of what steps speak of: attributes stay with a file as long
// as it is one, and so tell of the way.
func spoken(s snapshot) snapshot {
	out := snapshot{}
	extras := regexp.MustCompile(` \[[^]]*\] attrs=.*`)
	for k, v := range s {
		if strings.HasSuffix(k, linesOf) {
			out[k] = v
		} else {
			out[k] = extras.ReplaceAllString(v, "")
		}
	}
	return out
}

// TestWaysLeadToOneState: whichever list was in force before, a list leads to
// the same state.
func TestWaysLeadToOneState(t *testing.T) {
	tried, compared := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		d := dice{rt}
		w.mkdirs("/t")
		w.tree(d, "/t", 2)
		seen := w.look()
		l := func() string { return (&lister{dice: d, seen: seen, keep: true}).list() }
		a, b, c := l(), l(), l()
		v := w.twin()
		tried++
		for _, list := range []string{a, b, c} {
			if _, ok := w.applyLawfully(list); !ok {
				return
			}
		}
		for _, list := range []string{a, c} {
			if _, ok := v.applyLawfully(list); !ok {
				return
			}
		}
		compared++
		edits := edited([]string{a, b, c})
		order := func(p string) bool { return edits(p) } // regions stand in a file in the order in which they came
		if diff := differs(spoken(v.look()), spoken(w.look()), order); len(diff) > 0 {
			rt.Fatalf("by way of\n%s\n%s--\n%s--\n%sis not as without the second:\n%s", a, "--\n", b, c,
				strings.Join(diff, "\n"))
		}
	})
	if compared*4 < tried {
		t.Errorf("only %d of %d histories could be compared", compared, tried)
	}
}
