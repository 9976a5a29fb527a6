package fakehub

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// Host is a hub with an agent: Executor answers its calls, and Handler the other routes. Kept
// is the assignment of the agent.
type Host struct {
	http.Handler
	Executor executor.Executor
	Kept     *wire.Kept
}

// ServeHTTP answers the routes of the API.
func (h Host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		h.Handler.ServeHTTP(w, r)
		return
	}
	serveExecutor(w, wire.Served{Now: time.Now, Hello: wire.Hello{Kept: h.Kept},
		ReadOnly: strings.HasSuffix(r.URL.Path, "/look"),
		Open: func(context.Context, bool) (executor.Executor, func() error, error) {
			return h.Executor, func() error { return nil }, nil
		}})
}

func serveExecutor(w http.ResponseWriter, s wire.Served) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		document.ExecutorProtocol)
	_ = wire.Serve(context.Background(), conn, s) // the client reports errors
}

// hostileHost is an executor whose texts are all equal. Other methods than these fail.
type hostileHost struct {
	executor.Executor
	text string
}

// Runs implements executor.Executor.
func (x hostileHost) Runs(context.Context) (out []journal.RunInfo, err error) {
	fill(reflect.ValueOf(&out).Elem(), x.text, 0)
	return out, nil
}

// Show implements executor.Executor.
func (x hostileHost) Show(context.Context, int) (executor.Shown, error) {
	p := x.plan()
	s := executor.Shown{Plan: p}
	fill(reflect.ValueOf(&s.Info).Elem(), x.text, 0)
	fill(reflect.ValueOf(&s.Invocations).Elem(), x.text, 0)
	return s, nil
}

// Drift implements executor.Executor.
func (x hostileHost) Drift(context.Context, executor.DriftOptions) (*plan.Plan, error) {
	return x.plan(), nil
}

// PlanRollback implements executor.Executor.
func (x hostileHost) PlanRollback(context.Context, executor.RollbackRequest) (*plan.Plan, error) {
	return x.plan(), nil
}

// Condition implements executor.Executor.
func (x hostileHost) Condition(context.Context) (executor.Condition, error) {
	return executor.Condition{}, nil
}

// Status implements executor.Executor.
func (x hostileHost) Status(context.Context) (executor.Status, error) {
	return executor.Status{State: journal.State{Run: 7}}, nil
}

// plan returns a plan without images and steps, which are not texts.
func (x hostileHost) plan() *plan.Plan {
	p := &plan.Plan{}
	fill(reflect.ValueOf(p).Elem(), x.text, 0)
	for i := range p.Changes {
		c := &p.Changes[i]
		c.From, c.To, c.Earlier, c.WholeFile = nil, nil, nil, nil
	}
	return p
}
