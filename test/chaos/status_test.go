package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// logTail is how much of the log of a node a failed run prints, in bytes. All logs, with the
// goroutines of each process, are in the artifact directory of the test.
const logTail = 6000

// fail ends the run. It prints what each hub reports, what each agent has, and what all nodes
// logged last.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf(format, args...)
	w.t.Log("the hubs report:\n" + w.hubReports())
	w.t.Log("the agents have:\n" + w.agentReports())
	for _, n := range w.nodes() {
		text, _ := os.ReadFile(n.logFile())
		w.t.Logf("%s (%s), ended by itself %v:\n%s", n.name, n.address, n.crashes, text[max(0, len(text)-logTail):])
	}
	w.keepLogs()
	w.t.FailNow()
}

// hubReports asks all hubs at once: some may not answer.
func (w *world) hubReports() string {
	reports := make([]string, len(w.hubs))
	var wait sync.WaitGroup
	for i, h := range w.hubs {
		wait.Go(func() { reports[i] = w.hubReport(h) })
	}
	wait.Wait()
	return strings.Join(reports, "")
}

// hubReport is what one hub reports of the hubs, the fleet and each target.
func (w *world) hubReport(h *hub) string {
	ctx, done := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer done()
	var out strings.Builder
	fmt.Fprintf(&out, "%s at %s, runs %v, full %v\n", h.named, h.name, h.runs(), h.full)
	show := func(what string, value any, err error) {
		if err != nil {
			value = err
		}
		fmt.Fprintf(&out, "  %s: %+v\n", what, value)
	}
	hubs, err := client.Get(ctx, h.client, route.Hubs())
	show("hubs", hubs, err)
	status, err := client.Get(ctx, h.client, route.Status())
	show("status", status, err)
	alarms, err := client.Get(ctx, h.client, route.Alarms())
	show("alarms", alarms, err)
	check, err := client.Get(ctx, h.client, route.Check())
	show("check", check, err)
	page, err := client.GetAt(ctx, h.client, route.Targets(), all)
	show("targets", page.Total, err)
	for _, t := range page.Targets {
		show(t.Name, targetLine(t), nil)
	}
	return out.String()
}

func targetLine(t document.Target) string {
	return fmt.Sprintf("%s connected %v contact %s assigned %v accepted %v behind %d frozen %q waits %q error %q",
		t.State, t.Connected, time.Unix(0, t.Contact).Format(time.TimeOnly), t.Assigned, t.Accepted, t.Behind, t.Frozen,
		t.Waits, t.Error)
}

// agentReports is what the files of each host contain.
func (w *world) agentReports() string {
	var out strings.Builder
	for _, a := range w.agents {
		assigned, _, err := a.accepted()
		fmt.Fprintf(&out, "%s: commit %d of %d, runs %v, %d reports", a.name, a.has(), w.head, a.runs(), a.reported())
		if assigned != nil {
			fmt.Fprintf(&out, ", accepted %v issued %s of %+v", assigned.Number(),
				time.Unix(assigned.Issued, 0).Format(time.TimeOnly), assigned.Root.Revision)
		}
		fmt.Fprintf(&out, " (%v)\n", err)
	}
	return out.String()
}

// jobEverywhere is what each hub reports of a job on an agent, and what the agent stores of it.
func (c *run) jobEverywhere(ctx context.Context, j job, a *agent) string {
	var out strings.Builder
	for _, h := range c.hubs {
		r, err := client.GetAt(ctx, h.client, route.Job(), route.JobID{Job: j.id})
		for _, t := range r.Targets {
			if t.Name == a.name {
				fmt.Fprintf(&out, "%s: %s, ", h.named, t.State)
			}
		}
		if err != nil {
			fmt.Fprintf(&out, "%s: %v, ", h.named, err)
		}
	}
	text, err := os.ReadFile(a.file("var/lib/fettle/agent/state.json"))
	var kept struct {
		Taken json.RawMessage `json:"taken"`
		Done  []string        `json:"done"`
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	fmt.Fprintf(&out, "%s knows it: %v, stores %s (%v)", a.name, slices.Contains(kept.Done, j.id), kept.Taken, err)
	return out.String()
}

// keepLogs ends all processes with SIGQUIT, so that each logs its goroutines, and copies all logs.
func (w *world) keepLogs() {
	to := w.t.ArtifactDir()
	var wait sync.WaitGroup
	for _, n := range w.nodes() {
		wait.Go(func() {
			n.end(syscall.SIGQUIT)
			text, err := os.ReadFile(n.logFile())
			if err == nil {
				err = os.WriteFile(filepath.Join(to, n.name+".log"), text, 0o600)
			}
			if err != nil {
				w.t.Log(err)
			}
		})
	}
	wait.Wait()
}
