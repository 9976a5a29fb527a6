package sysctl

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

func value(v string) image.Image { return image.Of(&image.Sysctl{Present: true, Value: v}) }

func machine(t *testing.T) (*mem.Host, step.Step) {
	t.Helper()
	h := mem.New(mem.Options{})
	for _, d := range []string{"/proc", "/proc/sys", "/proc/sys/net"} {
		if err := h.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := h.Create("/proc/sys/net/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("0\n")); err != nil {
		t.Fatal(err)
	}
	l, ds := step.Parse("list", []byte("SYSCTL net.x value=1\n"))
	if err := errors.Join(f.Close(), ds.Err()); err != nil {
		t.Fatal(err)
	}
	return h, l[0]
}

// TestMove: the kernel's file gets the value, forward and back. A setting that
// was not there has nothing to go back to.
func TestMove(t *testing.T) {
	h, s := machine(t)
	for _, want := range []string{"1", "0"} {
		if err := (Sysctl{}).Move(t.Context(), verb.Env{Host: h}, s, image.Image{}, value(want)); err != nil {
			t.Fatal(err)
		}
		now, err := Sysctl{}.Observe(t.Context(), verb.Env{Host: h}, s)
		if err != nil || now.Sysctl().Value != want {
			t.Errorf("it is %+v, %v, want %s", now.Sysctl(), err, want)
		}
	}
	gone := image.Of(&image.Sysctl{})
	if err := (Sysctl{}).Move(t.Context(), verb.Env{Host: h}, s, value("0"), gone); err != nil {
		t.Error(err)
	}
}

// failing is a machine whose kernel refuses: to be read, or to be written.
type failing struct{ host.Host }

func (failing) OpenWrite(string) (host.File, error) { return nil, syscall.EROFS }

type reading struct {
	host.Host
	l *fault.Looks
}

func (r reading) Open(p string) (host.File, error) { return r.l.Open(p) }

type refusing struct{ host.Host }

func (r refusing) OpenWrite(p string) (host.File, error) {
	f, err := r.Host.OpenWrite(p)
	return noWrite{f}, err
}

type noWrite struct{ host.File }

func (noWrite) Write([]byte) (int, error) { return 0, syscall.EINVAL }

func TestErrors(t *testing.T) {
	h, s := machine(t)
	if err := (Sysctl{}).Move(t.Context(), verb.Env{Host: failing{h}}, s, image.Image{}, value("1")); !errors.Is(err,
		syscall.EROFS) || !strings.Contains(err.Error(), "cannot set net.x:") {
		t.Error(err)
	}
	if err := (Sysctl{}).Move(t.Context(), verb.Env{Host: refusing{h}}, s, image.Image{}, value("1")); !errors.Is(err,
		syscall.EINVAL) || !strings.Contains(err.Error(), `cannot set net.x to "1":`) {
		t.Error(err)
	}
	for at := 1; at <= 2; at++ { // opening, reading
		if _, err := (Sysctl{}).Observe(t.Context(), verb.Env{Host: reading{h, &fault.Looks{FS: h, At: at}}},
			s); !errors.Is(err, fault.ErrLook) || !strings.Contains(err.Error(), "cannot read kernel setting net.x") {
			t.Errorf("look %d: %v", at, err)
		}
	}
}

// TestNameOfAContainer: where /proc/sys is read-only the name is set by hostname(1), and its
// refusal is shown with the way out.
func TestNameOfAContainer(t *testing.T) {
	var ran []string
	code := 0
	h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		if ran = append(ran, strings.Join(c.Argv, " ")); !c.Mutates {
			t.Errorf("%v does not change the host", c.Argv)
		}
		return host.CommandResult{ExitCode: code, Stderr: []byte("not permitted\n")}, nil
	}})
	l, ds := step.Parse("list", []byte("SYSCTL kernel.hostname value=web1\n"))
	if ds.HasErrors() {
		t.Fatal(ds)
	}
	move := func() error {
		return Sysctl{}.Move(t.Context(), verb.Env{Host: failing{h}}, l[0], value("old"), value("web1"))
	}
	if err := move(); err != nil || strings.Join(ran, ";") != "hostname web1" {
		t.Errorf("%v: %v", ran, err)
	}
	code = 1
	if err := move(); err == nil || !strings.Contains(err.Error(), "not permitted") ||
		!strings.Contains(err.Error(), "running = false") {
		t.Error(err)
	}
}
