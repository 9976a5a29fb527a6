package executors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/executors"
)

// errStream is the error of a stream that is closed.
var errStream = errors.New("the connection was lost")

// closed is a stream that has ended.
type closed struct{ io.ReadWriter }

func (closed) Close() error { return errStream }

// opens is an exchange whose agents accept every stream.
type opens struct{ fleet.Exchange }

func (opens) Open(context.Context, fleet.TargetID, string, []byte) (io.ReadWriteCloser, error) {
	return closed{}, nil
}

// TestLimits: a user has 200 executors at once, and a hub 1024.
func TestLimits(t *testing.T) {
	o := executors.New(executors.Config{Exchange: opens{}, Timeout: time.Minute,
		Trusted: func(_ context.Context, id fleet.TargetID) (fleet.Target, error) { return fleet.Target{ID: id}, nil }})
	var last io.Closer
	add := func(user, target int) error {
		by := access.NewPrincipal(fmt.Sprintf("user%d", user), "token", access.Operator)
		s, err := o.OpenExecutor(t.Context(), by, fleet.TargetID(fmt.Sprint(target)), true)
		if err == nil {
			last = s
		}
		return err
	}
	for user := range 5 {
		for target := range 200 {
			if err := add(user, target); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, add(user, 200), api.TooMany, fmt.Sprintf("user%d has 200 open", user), "--parallel")
		if err := last.Close(); !errors.Is(err, errStream) {
			t.Errorf("the error of the stream is lost: %v", err)
		}
		if err := add(user, 200); err != nil {
			t.Errorf("after one was closed: %v", err)
		}
		refused(t, add(user, 201), api.TooMany, fmt.Sprintf("user%d has 200 open", user))
	}
	for target := range 24 {
		if err := add(5, target); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, add(5, 24), api.TooMany, "1024 are open through this hub", "another hub")
	refused(t, add(0, 200), api.TooMany, "1024 are open through this hub")
	_ = last.Close()
	if err := add(5, 24); err != nil {
		t.Errorf("after one was closed: %v", err)
	}
}
