package check

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

type open struct{ fake }

func (open) TCP(context.Context, string) error { return nil }

// machine has a file, a directory, a running and a stopped unit, and the programs `say`, `no`,
// `hang` and `gone`.
func machine(t *testing.T) *mem.Host {
	t.Helper()
	h := mem.New(mem.Options{Run: func(_ context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
		switch c.Argv[0] {
		case "say":
			return host.CommandResult{Stdout: []byte("all " + strings.Join(c.Argv[1:], " "))}, nil
		case "no":
			return host.CommandResult{ExitCode: 3, Stderr: []byte("because\n")}, nil
		case "hang":
			time.Sleep(cmp.Or(c.Timeout, 5*time.Minute)) // as a host does
			return host.CommandResult{ExitCode: -1, TimedOut: true}, nil
		}
		return host.CommandResult{}, errors.New("no such program")
	}})
	f, err := h.Create("/f")
	if err == nil {
		_, err = f.Write([]byte("some text"))
	}
	if err = errors.Join(err, f.Close(), h.Mkdir("/d", 0o755)); err != nil {
		t.Fatal(err)
	}
	h.Services().Define("runs.service", image.Unit{Loaded: true, Active: "active"})
	h.Services().Define("stopped.service", image.Unit{Loaded: true, Active: "failed"})
	return h
}

// TestOfTheMachine: a check that holds passes at once. Other checks are repeated until their time
// limit and report the last result.
func TestOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		words, want string
		net         Prober
	}{
		{"tcp=h:80", "", &open{}},
		{"tcp=h:80", "no program accepts connections on h:80: refused", &fake{}},
		{"exec=\"say ok\"", "", nil},
		{"exec=\"say ok\" contains=\"all ok\"", "", nil},
		{"exec=\"say no\" contains=ok", `what say no says does not contain the text "ok"`, nil},
		{"exec=no", "no ended with exit code 3: because", nil},
		{"exec=hang", "hang did not end within 1s", nil},
		{"exec=gone", "cannot run gone: no such program", nil},
		{"unit=runs.service", "", nil},
		{"unit=stopped.service", "unit stopped.service is failed; see journalctl -u stopped.service", nil},
		{"file=/f", "", nil},
		{"file=/d", "", nil},
		{"file=/f contains=text", "", nil},
		{"file=/f contains=other", `/f does not contain the text "other"`, nil},
		{"file=/d contains=text", `"/d" is not a regular file`, nil},
		{"file=/none", `"/none" does not exist`, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, ds := step.Parse("list", []byte("CHECK c "+c.words+" within=1s\n"))
			if ds.Err() != nil {
				t.Fatal(ds.Err())
			}
			began := time.Now()
			err := Run(t.Context(), machine(t), c.net, l[0])
			took := time.Since(began)
			if c.want == "" && (err != nil || took != 0) {
				t.Errorf("%s: %v after %s", c.words, err, took)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), "still failing after 1s: "+c.want) ||
				took != time.Second) {
				t.Errorf("%s: %v after %s, want %q", c.words, err, took, c.want)
			}
		})
	}
}

// blind is a machine that cannot be looked at.
type blind struct{ *mem.Host }

var errBlind = errors.New("no service manager")

func (blind) Units() (host.Units, error)     { return nil, errBlind }
func (blind) Open(string) (host.File, error) { return nil, errBlind }

func TestWhatCannotBeSeen(t *testing.T) {
	for _, words := range []string{"unit=runs.service", "file=/f contains=text"} {
		synctest.Test(t, func(t *testing.T) {
			l, ds := step.Parse("list", []byte("CHECK c "+words+" within=1s\n"))
			if ds.Err() != nil {
				t.Fatal(ds.Err())
			}
			if err := Run(t.Context(), blind{machine(t)}, nil, l[0]); !errors.Is(err, errBlind) {
				t.Errorf("%s: %v", words, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			began := time.Now()
			if err := Run(ctx, blind{machine(t)}, nil, l[0]); !errors.Is(err, context.Canceled) || time.Since(began) != 0 {
				t.Errorf("%s: a check goes on after its end: %v", words, err)
			}
		})
	}
}
