package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/web"
)

// unread is a host whose journal cannot be read.
type unread struct{ executor.Executor }

func (unread) Condition(context.Context) (executor.Condition, error) {
	return executor.Condition{Locked: "kim"}, nil
}

func clientOfThisHost() *client.Client {
	h := web.HostAPI{Name: "web1", User: "root", Serve: func(context.Context) wire.Served {
		return wire.Served{Now: time.Now, Open: func(context.Context, bool) (executor.Executor, func() error, error) {
			return unread{}, func() error { return nil }, nil
		}}
	}}
	return client.Inside(h.Handler(), "", httptest.NewRequest(http.MethodGet, "/", nil))
}

// TestOnlyThisHost: the routes know one host, and no other one.
func TestOnlyThisHost(t *testing.T) {
	c := clientOfThisHost()
	if u, err := client.Get(t.Context(), c, route.WhoAmI()); err != nil || u.Name != "root" || len(u.Rights) != 2 {
		t.Errorf("%+v %v", u, err)
	}
	d, err := client.GetAt(t.Context(), c, route.Target(), route.TargetName{Target: "web1"})
	if err != nil || d.Target.Name != "web1" {
		t.Errorf("%+v %v", d, err)
	}
	_, err = client.GetAt(t.Context(), c, route.Target(), route.TargetName{Target: "web2"})
	if p, ok := errors.AsType[*document.Problem](err); !ok || p.Status != http.StatusNotFound {
		t.Errorf("another host: %v", err)
	}
	if _, err := c.Executor(t.Context(), "web2", true, "fettle apply"); !client.Missing(err) {
		t.Errorf("the executor of another host: %v", err)
	}
}

// TestExecutor: the executor of the host accepts changes only over the route for changes.
func TestExecutorOfThisHost(t *testing.T) {
	for _, changes := range []bool{false, true} {
		stream, err := clientOfThisHost().Executor(t.Context(), "web1", changes, "fettle status")
		if err != nil {
			t.Fatal(err)
		}
		x, err := wire.Dial(t.Context(), stream, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := x.Condition(t.Context()); err != nil || c.Locked != "kim" {
			t.Errorf("%+v %v", c, err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
