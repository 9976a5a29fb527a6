package assign_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/source"
)

// sharing is a fleet of web and lb targets. Each lb uses the values that the web targets of its
// site export.
type sharing struct {
	state *assign.State
	now   int64
	rev   uint64
	// is what targets export now, by name; those that are not active export in vain.
	is      map[string]string
	active  map[string]bool
	grants  map[string][]int64 // when each lb got something new
	targets []fleet.Target
}

func newSharing() *sharing {
	s := &sharing{state: assign.NewState(1, "main"), now: 1000, is: map[string]string{}, active: map[string]bool{},
		grants: map[string][]int64{}}
	for _, name := range []string{"lb1", "lb2", "web1", "web2", "web3"} {
		s.targets = append(s.targets, fleet.Target{ID: idOf(name), Name: name, Standing: fleet.Active,
			Labels: map[string]string{"site": name[len(name)-1:], "role": name[:len(name)-1]}})
		s.active[name] = true
	}
	s.targets[4].Labels["site"] = "1"
	for i := range s.targets {
		s.fold(assign.Event{Kind: assign.TargetEvent, Key: string(s.targets[i].ID), Target: &s.targets[i]})
	}
	s.fold(assign.Event{Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: commitOf("one")}})
	return s
}

func (s *sharing) fold(e assign.Event) {
	s.rev++
	e.Rev = s.rev
	s.state.Fold(e)
}

func (s *sharing) contents(in assign.Input) map[string]assign.Contents {
	c := assign.Contents{Revision: fleet.Revision{Repository: "site", Commit: commitOf("one")},
		Enrolled: assign.EnrolledDigest(in.Targets),
		Root:     bundleOf("", "top"), Bundles: map[string]fleet.Bundle{"modules/lb": bundleOf("lb", ""),
			"modules/web": bundleOf("web", "")}, Targets: map[string]assign.Configured{}}
	asks := []source.Exported{{Name: "backends", Module: "modules/web", Output: "address", Same: []string{"site"},
		Type: json.RawMessage(`"string"`)}}
	for _, t := range in.Targets {
		conf := assign.Configured{Labels: t.Labels, Modules: []assign.Module{{Directory: "modules/" + t.Labels["role"]}}}
		if t.Labels["role"] == "lb" {
			conf.ExportUses = asks
		}
		c.Targets[t.Name] = conf
	}
	return map[string]assign.Contents{commitOf("one"): c}
}

// export sets the exported value of a target; "" removes it.
func (s *sharing) export(name, value string) {
	own := []exported.Own{}
	if value != "" {
		own = append(own, exported.Own{Module: "modules/web", Output: "address", Value: value})
	}
	s.is[name] = value
	s.fold(assign.Event{Kind: assign.ExportsEvent, Key: string(idOf(name)), Exports: &own})
}

func (s *sharing) stand(name string, as fleet.Standing) {
	for i := range s.targets {
		if s.targets[i].Name == name {
			s.targets[i].Standing = as
			s.fold(assign.Event{Kind: assign.TargetEvent, Key: string(s.targets[i].ID), Target: &s.targets[i]})
		}
	}
	s.active[name] = as == fleet.Active
}

func (s *sharing) step() assign.Output {
	in := s.state.Input(s.now, nil)
	in.Revisions = s.contents(in)
	out := assign.Compute(in)
	for i := range out.Assignments {
		s.grants[out.Assignments[i].Name] = append(s.grants[out.Assignments[i].Name], s.now)
	}
	s.state.ApplyOutput(out)
	return out
}

// given returns the exported values in the assignment of a target.
func (s *sharing) given(name string) string {
	var b bytes.Buffer
	for _, t := range s.state.Input(0, nil).Previous[idOf(name)].Exported {
		for _, v := range t.Values {
			fmt.Fprintf(&b, "%s=%s ", v.Key(), v.Value)
		}
	}
	return b.String()
}

// want returns the expected values after all delays.
func (s *sharing) want(site string) string {
	var b bytes.Buffer
	for _, t := range s.targets {
		if v := s.is[t.Name]; t.Labels["role"] == "web" && t.Labels["site"] == site && s.active[t.Name] && v != "" &&
			v != "[]" {
			fmt.Fprintf(&b, "%s=%s ", t.Name, v)
		}
	}
	return b.String()
}

// For all exports in any order, a target finally gets exactly the values that it uses, not more
// often than allowed, and other targets get none.
func TestExportedHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSharing()
		s.step()
		first := len(s.grants["lb1"])
		webs := []string{"web1", "web2", "web3"}
		t.Repeat(map[string]func(*rapid.T){
			"export": func(t *rapid.T) {
				// [] does not have the type of the output.
				s.export(rapid.SampledFrom(webs).Draw(t, "web"),
					rapid.SampledFrom([]string{"", `"a"`, `"b"`, `[]`}).Draw(t, "value"))
				s.step()
			},
			"lie": func(t *rapid.T) { s.export("lb2", `"of a module that it has not"`); s.step() },
			"time": func(t *rapid.T) {
				s.now += rapid.Int64Range(1, 40).Draw(t, "seconds")
				s.step()
			},
			"retire": func(t *rapid.T) {
				s.stand(rapid.SampledFrom(webs).Draw(t, "web"),
					rapid.SampledFrom([]fleet.Standing{fleet.Active, fleet.Retired, fleet.Revoked}).Draw(t, "standing"))
				s.step()
			},
		})
		out := s.step()
		for out.Next > 0 && out.Next > s.now {
			s.now = out.Next
			out = s.step()
		}
		for lb, site := range map[string]string{"lb1": "1", "lb2": "2"} {
			if got, want := s.given(lb), s.want(site); got != want {
				t.Fatalf("%s has %q, and the the exported values for it have %q", lb, got, want)
			}
			for i := 1; i < len(s.grants[lb]); i++ {
				if s.grants[lb][i]-s.grants[lb][i-1] < assign.MinExportInterval {
					t.Fatalf("%s was given something at %v", lb, s.grants[lb])
				}
			}
		}
		for _, web := range webs {
			if again := s.state.Input(0, nil).Previous[idOf(web)]; len(again.Exported) > 0 {
				t.Fatalf("%s is given %v, and asks for nothing", web, again.Exported)
			}
		}
		if first != 1 || len(s.step().Assignments) != 0 {
			t.Fatal("it does not come to rest")
		}
	})
}

// Too many values for a target raise an alarm, and do not change its assignment.
func TestTooMuchIsExported(t *testing.T) {
	s := newSharing()
	s.step()
	long := `"` + string(bytes.Repeat([]byte("x"), exported.MaxValue-2)) + `"`
	var own []exported.Own
	for i := range 40 {
		own = append(own, exported.Own{Module: "modules/web", As: fmt.Sprint(i), Output: "address", Value: long})
	}
	s.fold(assign.Event{Kind: assign.ExportsEvent, Key: string(idOf("web1")), Exports: &own})
	s.now += 100
	out := s.step()
	if len(out.Assignments) > 0 || !slices.ContainsFunc(out.Alarms,
		func(a assign.Alarm) bool {
			return a.Kind == assign.TooMuchExported && strings.Contains(a.Text, "have 322 KiB, and the limit is 256 KiB")
		}) {
		t.Errorf("%d assignments, %+v", len(out.Assignments), out.Alarms)
	}
}

// Equal values have equal bytes, independently of the order of events.
func TestExportedOrder(t *testing.T) {
	texts := map[string]bool{}
	for _, order := range [][]string{{"web1", "web3"}, {"web3", "web1"}} {
		s := newSharing()
		for _, name := range order {
			s.export(name, `"`+name+`"`)
		}
		s.step()
		texts[string(s.state.Input(0, nil).Previous[idOf("lb1")].Marshal())] = true
	}
	if len(texts) != 1 {
		t.Errorf("%v", slices.Collect(maps.Keys(texts)))
	}
}

// Values of suspect targets are omitted as long as another target has a value.
func TestSuspectsExportInVain(t *testing.T) {
	s := newSharing()
	mark := func(name string, suspect *fleet.Suspicion) {
		for i := range s.targets {
			if s.targets[i].Name == name {
				s.targets[i].Suspect = suspect
				s.fold(assign.Event{Kind: assign.TargetEvent, Key: string(s.targets[i].ID), Target: &s.targets[i]})
			}
		}
	}
	given := func() string { s.now += 100; s.step(); return s.given("lb1") }
	s.export("web1", `"a"`)
	s.export("web3", `"c"`)
	doubt := &fleet.Suspicion{Reason: "disk errors"}
	for _, step := range []struct {
		name string
		mark *fleet.Suspicion
		want string
	}{{"web2", doubt, `web1="a" web3="c" `}, {"web1", doubt, `web3="c" `}, {"web3", doubt, `web1="a" web3="c" `},
		{"web1", nil, `web1="a" `}, {"web3", nil, `web1="a" web3="c" `}} {
		mark(step.name, step.mark)
		if got := given(); got != step.want {
			t.Errorf("%s %v: %s", step.name, step.mark, got)
		}
	}
}

// Two active targets with one name export nothing: it is not clear which of them has the value.
func TestExportsOfOneName(t *testing.T) {
	s := newSharing()
	s.export("web1", `"a"`)
	s.export("web3", `"c"`)
	s.step()
	if got := s.given("lb1"); got != `web1="a" web3="c" ` {
		t.Errorf("two names: %s", got)
	}
	twin := s.targets[3] // web2
	twin.Name = "web3"
	s.fold(assign.Event{Kind: assign.TargetEvent, Key: string(twin.ID), Target: &twin})
	s.now += 1000
	s.step()
	if got := s.given("lb1"); got != `web1="a" ` {
		t.Errorf("one name: %s", got)
	}
}
