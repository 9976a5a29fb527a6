package unit

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func target(t *testing.T, line string, now image.Unit) (image.Unit, error) {
	t.Helper()
	l, ds := step.Parse("list", []byte("UNIT s.service "+line+"\n"))
	if ds.Err() != nil {
		t.Fatal(ds.Err())
	}
	to, err := Unit{}.Target(l[0], image.Of(&now), nil)
	if err != nil {
		return image.Unit{}, err
	}
	return *to.Unit(), nil
}

func TestTarget(t *testing.T) {
	off := image.Unit{Loaded: true, State: "disabled", Active: "inactive"}
	on := image.Unit{Loaded: true, State: "enabled", Active: "active"}
	masked := image.Unit{Loaded: true, State: "masked", Active: "inactive", Masked: true}
	for _, c := range []struct {
		line      string
		now, want image.Unit
		err       string
	}{
		{line: "enabled=true active=true", now: off, want: on},
		{line: "enabled=false active=false", now: on, want: off},
		{line: "active=true", now: image.Unit{Loaded: true, State: "static", Active: "reloading"},
			want: image.Unit{Loaded: true, State: "static", Active: "reloading"}},
		{line: "active=false", now: image.Unit{Loaded: true, State: "static", Active: "failed"},
			want: image.Unit{Loaded: true, State: "static", Active: "failed"}},
		{line: "enabled=true active=true", now: image.Unit{Loaded: true, State: "enabled", Active: image.Restarting},
			want: on},
		{line: "enabled=false active=false", now: image.Unit{Loaded: true, State: "enabled", Active: image.Restarting},
			want: off},
		{line: "masked=true", now: off, want: masked},
		{line: "masked=false", now: masked, want: off},
		{line: "masked=false enabled=true active=true", now: masked, want: on},
		{line: "enabled=true", now: masked, err: "masked=false"},
		{line: "active=true", now: masked, err: "masked=false"},
		{line: "masked=true active=true", now: off, err: "masked"},
		{line: "enabled=true", now: image.Unit{}, err: "no unit"},
		{line: "active=false", now: image.Unit{}, want: image.Unit{}},
	} {
		got, err := target(t, c.line, c.now)
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" &&
			(err != nil || got != c.want) {
			t.Errorf("%s on %+v: %+v %v, want %+v %s", c.line, c.now, got, err, c.want, c.err)
		}
	}
}

// Every transition between two states ends in the desired state, and a state that is already
// reached needs no job.
func TestSteerGetsAnywhere(t *testing.T) {
	var states []image.Unit
	for _, active := range []string{"active", "inactive"} {
		for _, state := range []string{"enabled", "disabled", "masked"} {
			states = append(states, image.Unit{Loaded: true, State: state, Active: active, Masked: state == "masked"})
		}
	}
	for _, from := range states {
		for _, to := range states {
			h := mem.New(mem.Options{})
			h.Services().Define("s.service", from)
			l, _ := step.Parse("list", []byte("UNIT s.service active=true\n"))
			if err := (Unit{}).Move(context.Background(), verb.Env{Host: h}, l[0], image.Image{},
				image.Of(&to)); err != nil {
				t.Errorf("%+v to %+v: %v", from, to, err)
			}
			if got, _ := h.Services().Unit(context.Background(), "s.service"); got != to {
				t.Errorf("%+v to %+v ends at %+v by %q", from, to, got, h.Services().Jobs())
			}
			if jobs := h.Services().Jobs(); from == to && len(jobs) > 0 {
				t.Errorf("%+v needed %q", from, jobs)
			}
			if jobs := h.Services().Jobs(); slices.Index(jobs, "mask s.service") >= 0 && jobs[len(jobs)-1] != "mask s.service" {
				t.Errorf("masked before the end: %q", jobs)
			}
		}
	}
}

// TestRestartLoop: a unit in a restart loop does not count as running, and is restarted again, or
// stopped. A unit without a desired activity is not touched.
func TestRestartLoop(t *testing.T) {
	loop := image.Unit{Loaded: true, State: "enabled", Active: "activating", Restarting: true}
	for _, c := range []struct{ line, now, jobs string }{
		{"enabled=true active=true", image.Restarting, "restart s.service"},
		{"active=false", image.Restarting, "stop s.service"},
		{"enabled=true", "activating", ""},
	} {
		h := mem.New(mem.Options{})
		h.Services().Define("s.service", loop)
		l, _ := step.Parse("list", []byte("UNIT s.service "+c.line+"\n"))
		e := verb.Env{Host: h}
		from, err := Unit{}.Observe(t.Context(), e, l[0])
		if err != nil || from.Unit().Active != c.now || from.Unit().Restarting {
			t.Errorf("%s: it is %+v, %v", c.line, from.Unit(), err)
		}
		to, err := Unit{}.Target(l[0], from, nil)
		if err != nil || to.Same(from) != (c.jobs == "") {
			t.Errorf("%s: %+v becomes %+v, %v", c.line, from.Unit(), to.Unit(), err)
		}
		if err := (Unit{}).Move(t.Context(), e, l[0], from, to); err != nil {
			t.Error(err)
		}
		if jobs := strings.Join(h.Services().Jobs(), ", "); jobs != c.jobs {
			t.Errorf("%s: it needed %q, want %q", c.line, jobs, c.jobs)
		}
		after, err := Unit{}.Observe(t.Context(), e, l[0])
		if err != nil || !after.Same(to) {
			t.Errorf("%s: it is %+v in the end, want %+v, %v", c.line, after.Unit(), to.Unit(), err)
		}
		if err := (Unit{}).Move(t.Context(), e, l[0], to, from); err != nil { // a run that is undone
			t.Error(err)
		}
	}
}
