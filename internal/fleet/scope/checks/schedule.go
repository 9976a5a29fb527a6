package checks

import (
	"hash/fnv"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// Check is a check of a scope that a target tests.
type Check = query.OwnCheck

// Now is the current time of two clocks.
type Now struct {
	Wall int64         // ns since 1970; it can jump
	Mono time.Duration // monotonic
}

// mostTests is the number of tests at the same time. firstTests is the time within which a new check is tested.
const (
	mostTests  = 4
	firstTests = 30 * time.Second
)

// Schedule decides when to test checks, and judges the results. It is pure.
type Schedule struct {
	entries []*entry // sorted by scope and check
	known   []fleet.CheckResult
	dice    uint64
	running int
}

// entry is the state of one check.
type entry struct {
	Check
	due     time.Duration
	running bool
	began   time.Duration // first test since the last success, or since the start
	tested  bool          // began is set
	result  fleet.CheckResult
}

// NewSchedule makes a schedule without checks. target makes it different from the schedules of other targets. known are
// results of an earlier process.
func NewSchedule(target string, known []fleet.CheckResult) *Schedule {
	h := fnv.New64a()
	_, _ = h.Write([]byte(target))
	return &Schedule{known: known, dice: h.Sum64()}
}

// Declare replaces the checks. A check with the same condition keeps its result.
func (s *Schedule) Declare(list []Check, now Now) {
	var entries []*entry
	for _, c := range list {
		e := s.find(c)
		if e == nil {
			e = &entry{due: now.Mono + s.random(min(seconds(c.Every), firstTests)), result: s.knownResult(c)}
		}
		e.Check = c
		e.due = min(e.due, now.Mono+seconds(c.Every))
		entries = append(entries, e)
	}
	s.entries, s.known = entries, nil
}

func (s *Schedule) knownResult(c Check) fleet.CheckResult {
	for _, r := range s.known {
		if r.Scope == c.Scope && r.Check == c.Name && r.Digest == c.Digest {
			return r
		}
	}
	return fleet.CheckResult{Scope: c.Scope, Check: c.Name, Digest: c.Digest}
}

// find returns the entry of the same condition, or nil.
func (s *Schedule) find(c Check) *entry {
	for _, e := range s.entries {
		if e.Scope == c.Scope && e.Name == c.Name && e.Digest == c.Digest {
			return e
		}
	}
	return nil
}

// Begin returns the checks whose tests must begin now. Each of them must End.
func (s *Schedule) Begin(now Now) (out []Check) {
	for _, e := range s.entries {
		if s.running == mostTests {
			break
		}
		if e.running || e.due > now.Mono {
			continue
		}
		every := seconds(e.Every)
		e.running, e.due = true, now.Mono+every-s.random(every/10)
		s.running++
		out = append(out, e.Check)
	}
	return out
}

// End records the end of a test. failure is "" if the condition holds.
func (s *Schedule) End(c Check, failure string, now Now) {
	s.running--
	e := s.find(c)
	if e == nil {
		return
	}
	e.running = false
	outcome := fleet.CheckOK
	if failure != "" {
		outcome = e.failed(now)
	} else {
		e.tested = false
	}
	if outcome == e.result.Outcome {
		return
	}
	e.result.Outcome, e.result.Since, e.result.Text = outcome, now.Wall, fleet.CheckText(failure)
}

// Skip records that a test could not be made, for a reason. The result is unknown until the next test, and FailAfter
// counts again from the next failure.
func (s *Schedule) Skip(c Check, why string, now Now) {
	s.running--
	e := s.find(c)
	if e == nil {
		return
	}
	e.running, e.tested = false, false
	if e.result.Outcome == fleet.CheckUnknown && e.result.Text == fleet.CheckText(why) {
		return
	}
	e.result.Outcome, e.result.Since, e.result.Text = fleet.CheckUnknown, now.Wall, fleet.CheckText(why)
}

// failed returns the outcome after a failure. FailAfter counts from the first failure after a success.
func (e *entry) failed(now Now) fleet.CheckOutcome {
	if !e.tested {
		e.tested, e.began = true, now.Mono
	}
	switch {
	case e.result.Outcome == fleet.CheckFailed || now.Mono-e.began >= seconds(e.FailAfter):
		return fleet.CheckFailed
	case e.result.Outcome == fleet.CheckOK:
		return fleet.CheckOK
	}
	return fleet.CheckPending
}

// Results returns the results of all tested checks.
func (s *Schedule) Results() (out []fleet.CheckResult) {
	for _, e := range s.entries {
		if e.result.Outcome != "" {
			out = append(out, e.result)
		}
	}
	return out
}

// Wait returns the time until Begin returns a check, unless a test ends before. ok is false if there is none.
func (s *Schedule) Wait(now Now) (wait time.Duration, ok bool) {
	if s.running == mostTests {
		return 0, false
	}
	for _, e := range s.entries {
		if left := max(e.due-now.Mono, 0); !e.running && (!ok || left < wait) {
			wait, ok = left, true
		}
	}
	return wait, ok
}

// random returns a random duration below most. The sequence depends only on the target.
func (s *Schedule) random(most time.Duration) time.Duration {
	s.dice = s.dice*6364136223846793005 + 1442695040888963407
	if most <= 0 {
		return 0
	}
	return time.Duration(s.dice>>1) % most
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
