package checks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/lang/query"
)

func check(scope, name, digest string, every, failAfter int64) checks.Check {
	return checks.Check{Scope: scope, ScopeCheck: query.ScopeCheck{Name: name, Digest: digest, Every: every, Timeout: 10,
		FailAfter: failAfter}}
}

func at(d time.Duration) checks.Now { return checks.Now{Wall: int64(d), Mono: d} }

// TestOutcomes: a check that never held is pending for FailAfter. One that held stays ok for this time after its first
// failure. It stays failed until it holds.
func TestOutcomes(t *testing.T) {
	s := checks.NewSchedule("t", nil)
	c := check("cluster/a", "x", "d", 10, 25)
	s.Declare([]checks.Check{c}, at(0))
	now := time.Duration(0)
	var got []string
	for _, failure := range []string{"1", "2", "3", "4", "", "5", "6", "", "7", "8", "9", "10", "11"} {
		wait, ok := s.Wait(at(now))
		if !ok || wait > 10*time.Second {
			t.Fatal(wait, ok)
		}
		now += wait
		if began := s.Begin(at(now)); len(began) != 1 || len(s.Begin(at(now))) != 0 {
			t.Fatalf("%+v", began)
		}
		s.End(c, failure, at(now))
		r := s.Results()[0]
		got = append(got, string(r.Outcome)+r.Text)
		now = now.Truncate(10*time.Second) + 9*time.Second // the next interval
	}
	want := []string{"pending1", "pending1", "pending1", "failed4", "ok", "ok", "ok", "ok", "ok", "ok", "ok", "failed10",
		"failed10"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestUntested: a test that could not be made has an unknown result, and FailAfter counts again afterwards.
func TestUntested(t *testing.T) {
	s := checks.NewSchedule("t", nil)
	c := check("universe/a", "x", "d", 10, 15)
	s.Declare([]checks.Check{c}, at(0))
	now := time.Duration(0)
	var got []string
	for _, failure := range []string{"", "?no service", "?no service", "1", "2", "?no service", "3", "4", "5", ""} {
		wait, _ := s.Wait(at(now))
		now += wait
		s.Begin(at(now))
		if why, untested := strings.CutPrefix(failure, "?"); untested {
			s.Skip(c, why, at(now))
		} else {
			s.End(c, failure, at(now))
		}
		r := s.Results()[0]
		got = append(got, fmt.Sprint(r.Outcome, r.Text, r.Since == int64(now)))
		now = now.Truncate(10*time.Second) + 9*time.Second
	}
	want := []string{"oktrue", "unknownno servicetrue", "unknownno servicefalse", "pending1true", "pending1false",
		"unknownno servicetrue", "pending3true", "pending3false", "failed5true", "oktrue"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	s.Begin(at(now + time.Minute))
	s.Declare(nil, at(now))
	s.Skip(c, "late", at(now))
	if s.Results() != nil {
		t.Error("a check that is not declared has a result")
	}
}

// TestDeclare: the same condition keeps its result, also with another interval; another condition has none. A late
// result of a removed check does not count.
func TestDeclare(t *testing.T) {
	s := checks.NewSchedule("t", nil)
	a, b := check("cluster/a", "x", "d", 3600, 0), check("cluster/a", "y", "d", 5, 0)
	s.Declare([]checks.Check{a, b}, at(0))
	if s.Results() != nil {
		t.Error("a result without a test")
	}
	s.Begin(at(time.Minute))
	s.End(a, "", at(time.Minute))
	a.Every = 5
	b.Digest = "e"
	s.Declare([]checks.Check{a, b}, at(time.Minute))
	if wait, ok := s.Wait(at(time.Minute)); !ok || wait > 5*time.Second {
		t.Errorf("the new interval begins after %s", wait)
	}
	s.End(check("cluster/a", "y", "d", 5, 0), "late", at(time.Minute))
	want := []fleet.CheckResult{{Scope: "cluster/a", Check: "x", Digest: "d", Outcome: fleet.CheckOK,
		Since: int64(time.Minute)}}
	if got := s.Results(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	s.Declare(nil, at(time.Minute))
	if _, ok := s.Wait(at(time.Minute)); ok || s.Results() != nil {
		t.Error("it tests a check that is not declared")
	}
}

// TestKnown: results of the previous process count for the same conditions. A failure lasts until the condition holds,
// and FailAfter begins again.
func TestKnown(t *testing.T) {
	known := []fleet.CheckResult{
		{Scope: "cluster/a", Check: "x", Digest: "d", Outcome: fleet.CheckFailed, Since: 5, Text: "old"},
		{Scope: "cluster/a", Check: "y", Digest: "d", Outcome: fleet.CheckOK, Since: 5},
		{Scope: "cluster/a", Check: "z", Digest: "other", Outcome: fleet.CheckOK, Since: 5}}
	s := checks.NewSchedule("t", known)
	list := []checks.Check{check("cluster/a", "x", "d", 5, 60), check("cluster/a", "y", "d", 5, 60),
		check("cluster/a", "z", "d", 5, 60)}
	s.Declare(list, at(0))
	if got := s.Results(); !slices.Equal(got, known[:2]) {
		t.Errorf("%+v", got)
	}
	for _, c := range s.Begin(at(time.Hour)) {
		s.End(c, "fails", at(time.Hour))
	}
	if got := s.Results(); !slices.Equal(got[:2], known[:2]) || got[2].Outcome != fleet.CheckPending {
		t.Errorf("%+v", got)
	}
}

// TestLoad: at most four tests of a target run at the same time, and many targets do not test at the same time.
func TestLoad(t *testing.T) {
	var list []checks.Check
	for i := range 10 {
		list = append(list, check("cluster/a", fmt.Sprint("x", i), "d", 60, 0))
	}
	s := checks.NewSchedule("t", nil)
	s.Declare(list, at(0))
	began := s.Begin(at(time.Minute))
	if len(began) != 4 || len(s.Begin(at(time.Minute))) != 0 {
		t.Fatalf("%d tests begin", len(began))
	}
	if _, ok := s.Wait(at(time.Minute)); ok {
		t.Error("it wakes, and can begin no test")
	}
	s.End(began[0], "", at(time.Minute))
	if len(s.Begin(at(time.Minute))) != 1 {
		t.Error("no test follows")
	}
	const targets = 10_000
	perSecond := map[int]int{}
	for n := range targets {
		s := checks.NewSchedule(fmt.Sprint("target", n), nil)
		s.Declare(list[:1], at(0))
		wait, _ := s.Wait(at(0))
		perSecond[int(wait/time.Second)]++
		s.Begin(at(wait))
		s.End(list[0], "", at(wait))
		next, _ := s.Wait(at(wait))
		if next > 60*time.Second || next < 54*time.Second {
			t.Fatalf("the next test begins after %s", next)
		}
	}
	for second, n := range perSecond {
		if n > 2*targets/30 {
			t.Errorf("%d of %d targets test in second %d", n, targets, second)
		}
	}
}
