package act_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb/act"
)

func parse(t *testing.T, line string) step.Step {
	t.Helper()
	l, ds := step.Parse("list", []byte(line+" on=file:/f\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	return l[0]
}

// TestUnits: the jobs for each state. A unit that does not run reads its configuration when it
// starts. A unit that was removed from the list is not touched unless it runs.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		line, active string
		stale        bool
		job          string // "" for none
	}{
		{"ACT reload x.service", "active", false, "reload x.service"},
		{"ACT reload x.service", "inactive", false, ""},
		{"ACT reload x.service", "failed", true, ""},
		{"ACT reload x.service", "active", true, "reload x.service"},
		{"ACT restart x.service", "inactive", false, "restart x.service"},
		{"ACT restart x.service", "inactive", true, ""},
		{"ACT restart x.service", "active", true, "restart x.service"},
		{"ACT restart x.service timeout=5s", "active", false, "restart x.service"},
	} {
		h := mem.New(mem.Options{})
		h.Services().Define("x.service", image.Unit{Loaded: true, Active: c.active})
		if err := act.Run(t.Context(), h, parse(t, c.line), c.stale); err != nil {
			t.Errorf("%s of one that is %s: %v", c.line, c.active, err)
		}
		if jobs := h.Services().Jobs(); strings.Join(jobs, ",") != c.job {
			t.Errorf("%s of one that is %s, stale %v: %q, want %q", c.line, c.active, c.stale, jobs, c.job)
		}
	}
}

// managers are machines on which services cannot be asked, or not steered.
type unmanaged struct{ *mem.Host }

var errNone = errors.New("no service manager")

func (unmanaged) Units() (host.Units, error) { return nil, errNone }

type silent struct{ host.Units }

func (silent) Unit(context.Context, string) (image.Unit, error) { return image.Unit{}, errNone }

type unseen struct{ *mem.Host }

func (u unseen) Units() (host.Units, error) { return silent{u.Services()}, nil }

func TestErrors(t *testing.T) {
	h := mem.New(mem.Options{})
	h.Services().Define("x.service", image.Unit{Loaded: true, Active: "active"})
	h.Services().Define("broken.service", image.Unit{Loaded: true, Active: "failed"})
	if err := act.Run(t.Context(), h, parse(t, "ACT reload broken.service"), false); err == nil {
		t.Error("a unit that has failed was reloaded")
	}
	h.Services().Fail("reload", "x.service", errors.New("bad configuration"))
	for name, c := range map[string]struct {
		h    host.Host
		want string
	}{
		"no manager":  {unmanaged{h}, "cannot reload x.service: no service manager"},
		"no answer":   {unseen{h}, "cannot reload x.service: no service manager"},
		"it does not": {h, "bad configuration"},
	} {
		if err := act.Run(t.Context(), c.h, parse(t, "ACT reload x.service"), false); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestCommands: a command runs as it is written, with its own limit.
func TestCommands(t *testing.T) {
	var ran host.Command
	h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		ran = c
		return host.CommandResult{ExitCode: map[string]int{"/bin/no": 4}[c.Argv[0]], Stderr: []byte("why")}, nil
	}})
	if err := act.Run(t.Context(), h, parse(t, `ACT run x /bin/x "a b" c timeout=7s`), false); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ran.Argv, []string{"/bin/x", "a b", "c"}) || ran.Timeout != 7*time.Second || !ran.Mutates {
		t.Errorf("it ran %+v", ran)
	}
	if err := act.Run(t.Context(), h, parse(t, "ACT run x /bin/no"), true); err == nil ||
		!strings.Contains(err.Error(), "/bin/no ended with exit code 4:\nwhy") {
		t.Errorf("error %v", err)
	}
}

// slow is a manager whose jobs end with their time.
type slow struct{ host.Units }

func (slow) Job(ctx context.Context, _, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

type slowHost struct{ *mem.Host }

func (h slowHost) Units() (host.Units, error) { return slow{h.Services()}, nil }

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mem.New(mem.Options{})
		h.Services().Define("x.service", image.Unit{Loaded: true, Active: "active"})
		began := time.Now()
		err := act.Run(t.Context(), slowHost{h}, parse(t, "ACT restart x.service timeout=30s"), false)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 30*time.Second {
			t.Errorf("error %v after %s", err, time.Since(began))
		}
	})
}
