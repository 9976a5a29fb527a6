package gates

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// vector returns a result with a value for each instance.
func vector(values ...string) string {
	var all []string
	for _, v := range values {
		instance, value, _ := strings.Cut(v, "=")
		all = append(all, fmt.Sprintf(`{"metric":{"instance":%q},"value":[1795000000.1,%q]}`, instance, value))
	}
	return result("vector", "["+strings.Join(all, ",")+"]")
}

// numbered returns the values of targets from web1 on.
func numbered(first int, values ...float64) (out []string) {
	for i, v := range values {
		out = append(out, fmt.Sprintf("web%d:9100=%g", first+i, v))
	}
	return out
}

// TestCompare: samples belong to targets by their label, and the values of both sides are compared.
func TestCompare(t *testing.T) {
	s := prometheus(t)
	low, high := []float64{1, 2, 3, 4, 5}, []float64{11, 12, 13, 14, 15}
	both := func(a, b []float64) []string { return append(numbered(1, a...), numbered(6, b...)...) }
	d := rollout.Due{Gate: rollout.Gate{Type: rollout.CompareGate, URL: s.URL + "/prom", Label: "instance", MinSample: 5,
		MaxRatio: 1.5}}
	for i := range 5 {
		d.With = append(d.With, rollout.ID(fmt.Sprint("id", i+1)))
		d.Without = append(d.Without, rollout.ID(fmt.Sprint("id", i+6)))
	}
	a := Programs{Secrets: &notify.Sender{}, Name: func(id rollout.ID) string { return "web" + string(id[2:]) }}
	for q, want := range map[string]string{
		vector(both(high, low)...):                                    "fail worse than permitted: the median is 13 on",
		vector(both(low, low)...):                                     "pass the median is 3 on 5 targets with",
		vector(append(both(low, high), "db1=99")...):                  "pass",
		vector(append(both(high, low)[1:], "web1=14")...):             "fail",
		vector(append(both(high, low)[1:], "web1:9100=NaN")...):       "none 4 targets with the change and 5 without it",
		vector(numbered(1, high...)...):                               "none 5 targets with the change and 0 without it",
		vector():                                                      "none 0 targets with the change",
		vector("db1=1", "db2=2"):                                      "error the query returns 2 values, and no label",
		vector("web1:1=1", "web1:2=2"):                                `error the query returns several values for "web1"`,
		result("vector", `[{"metric":{},"value":[1,"2"]}]`):           "error a value of the query has no label instance",
		result("vector", `[{"metric":{"instance":"a"},"value":[1]}]`): "error cannot read the value",
		result("vector", `{}`):                                        "error cannot read the values",
		result("scalar", `[1,"2"]`):                                   "error the query returns a scalar",
		"bad(":                                                        "error",
	} {
		d.Gate.Query = q
		v, why := a.Ask(t.Context(), d)
		if got := string(v) + " " + why; !strings.HasPrefix(got, want) {
			t.Errorf("%.90s: %s, want %s", q, got, want)
		}
	}
}

// TestNoneIsStoredOnce: a comparison with too few values is stored again only if its evidence is different.
func TestNoneIsStoredOnce(t *testing.T) {
	s := prometheus(t)
	a := &Asker{Now: time.Now, Programs: Programs{&notify.Sender{}, func(id rollout.ID) string { return string(id) }},
		Record: func(context.Context, []rollout.Event) {}}
	d := rollout.Due{With: []rollout.ID{"web1"}, Gate: rollout.Gate{Type: rollout.CompareGate, URL: s.URL + "/prom",
		Label: "instance", MinSample: 5, Query: vector("web1=1")}}
	_, why := a.Programs.Ask(t.Context(), d)
	for _, c := range []struct {
		state rollout.GateState
		want  int
	}{{rollout.GateState{}, 1}, {rollout.GateState{Last: rollout.None, Why: why}, 0},
		{rollout.GateState{Last: rollout.None, Why: "before"}, 1}, {rollout.GateState{Last: rollout.Pass, Why: why}, 1}} {
		l := &log{done: func() {}}
		a.Rollouts, d.State, a.next = l, c.state, nil
		if a.begin(d) {
			a.ask(t.Context(), d)
		}
		if len(l.ordered) != c.want {
			t.Errorf("%+v: %+v", c.state, l.ordered)
		}
	}
}
