// Package check is CHECK and WAIT: something is looked at again and again until
// it holds or the time is over. CHECK verifies after a run, WAIT waits in the
// middle of one.
//
//	CHECK answers http=http://127.0.0.1/ status=200 within=30s
//	WAIT database tcp=db1.example.org:5432 timeout=10m
package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// Prober makes requests over the network.
type Prober interface {
	HTTP(ctx context.Context, url string) (status int, body []byte, err error)
	TCP(ctx context.Context, address string) error
}

// The default time limits of CHECK and WAIT; pause is the time between two attempts.
const (
	within  = 10 * time.Second
	timeout = 5 * time.Minute
	pause   = 250 * time.Millisecond
)

func limitOf(s step.Step) time.Duration {
	key, limit := "within", within
	if s.Verb == step.Wait {
		key, limit = "timeout", timeout
	}
	if d, err := time.ParseDuration(s.Get(key)); err == nil {
		limit = d
	}
	return limit
}

// Run repeats the check until it holds, the step's time limit expires, or ctx ends. The error is
// the result of the last attempt.
func Run(ctx context.Context, h host.Host, net Prober, s step.Step) error {
	limit := limitOf(s)
	over := time.After(limit)
	for {
		err := try(ctx, h, net, s, limit)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-over:
			return fmt.Errorf("still failing after %s: %w", limit, err)
		case <-time.After(pause):
		}
	}
}

// Once tests the condition of a CHECK once, within its time limit.
func Once(ctx context.Context, h host.Host, net Prober, s step.Step) error {
	limit := limitOf(s)
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return try(ctx, h, net, s, limit)
}

func try(ctx context.Context, h host.Host, net Prober, s step.Step, limit time.Duration) error {
	switch {
	case s.Get("http") != "":
		return tryHTTP(ctx, net, s)
	case s.Get("tcp") != "":
		if err := net.TCP(ctx, s.Get("tcp")); err != nil {
			return fmt.Errorf("no program accepts connections on %s: %w", s.Get("tcp"), err)
		}
		return nil
	case s.Get("exec") != "":
		return tryExec(ctx, h, s, limit)
	case s.Get("unit") != "":
		return tryUnit(ctx, h, s.Get("unit"))
	}
	return tryFile(h, s)
}

func tryHTTP(ctx context.Context, net Prober, s step.Step) error {
	url := s.Get("http")
	want := 200
	if v, err := strconv.Atoi(s.Get("status")); err == nil {
		want = v
	}
	got, body, err := net.HTTP(ctx, url)
	switch {
	case err != nil:
		return fmt.Errorf("%s does not answer: %w", url, err)
	case got != want:
		return fmt.Errorf("%s answers with status %d instead of %d", url, got, want)
	}
	return contains(s, url, body)
}

func contains(s step.Step, where string, text []byte) error {
	if want := s.Get("contains"); !bytes.Contains(text, []byte(want)) {
		return fmt.Errorf("%s does not contain the text %q", where, want)
	}
	return nil
}

// tryExec runs a command, which may take no longer than the check.
func tryExec(ctx context.Context, h host.Host, s step.Step, limit time.Duration) error {
	argv, err := step.SplitWords(s.Get("exec"))
	if err != nil {
		return err
	}
	res, err := h.Run(ctx, host.Command{Argv: argv, Timeout: limit})
	switch {
	case err != nil:
		return fmt.Errorf("cannot run %s: %w", s.Get("exec"), err)
	case res.TimedOut:
		return fmt.Errorf("%s did not end within %s", s.Get("exec"), limit)
	case res.ExitCode != 0:
		return fmt.Errorf("%s ended with exit code %d: %s", s.Get("exec"), res.ExitCode,
			strings.TrimSpace(string(res.Stderr)))
	}
	return contains(s, "what "+s.Get("exec")+" says", res.Stdout)
}

func tryUnit(ctx context.Context, h host.Host, name string) error {
	units, err := h.Units()
	if err != nil {
		return err
	}
	u, err := units.Unit(ctx, name)
	if err != nil {
		return err
	}
	if u.Active != "active" {
		return fmt.Errorf("unit %s is %s; see journalctl -u %s", name, u.Active, name)
	}
	return nil
}

func tryFile(h host.Host, s step.Step) error {
	p := s.Get("file")
	st, err := h.Lstat(p)
	if err != nil {
		return fmt.Errorf("%q does not exist: %w", p, err)
	}
	if s.Get("contains") == "" {
		return nil
	}
	if st.Type != image.Regular {
		return fmt.Errorf("%q is not a regular file", p)
	}
	var r host.Reader = h
	if v, ok := h.(host.Veiled); ok {
		r = v.Under(p, "") // the text is in the list, so it is not secret
	}
	f, err := r.Open(p)
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", p, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 16<<20))
	if err != nil {
		return fmt.Errorf("cannot read %q: %w", p, err)
	}
	return contains(s, p, text)
}
