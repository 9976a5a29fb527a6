package hubs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Fleet is a hub with three targets: web1 is ready and connected, web2 has failed and is
// disconnected for a minute, and db1 waits for approval.
type Fleet struct {
	*Hub
	Web1, Web2 *Agent
}

// StartFleet is Start with the targets of a Fleet.
func StartFleet(ctx context.Context, dir string) (*Fleet, error) {
	h, err := Start(dir)
	if err != nil {
		return nil, err
	}
	f := &Fleet{Hub: h}
	if err := f.fill(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot create the fleet: %w %q", err, h.Warnings()), h.Close())
	}
	return f, nil
}

// fill enrols the targets an hour before Now, and lets them report a minute before Now.
func (f *Fleet) fill(ctx context.Context) error {
	f.SetTime(Now().Add(-time.Hour))
	if err := f.Commit(ctx, "Serve more", configuration()); err != nil {
		return err
	}
	if err := f.enrol(ctx); err != nil {
		return err
	}
	f.SetTime(Now().Add(-time.Minute))
	if err := f.Web1.Ready(ctx); err != nil {
		return err
	}
	if err := f.Web2.failed(ctx); err != nil {
		return err
	}
	if err := f.Web2.Disconnect(); err != nil {
		return err
	}
	err := f.Web2.await(ctx, "the end of web2", func(t document.Target) bool { return !t.Connected })
	f.SetTime(Now())
	return err
}

// enrol enrols the targets, connects web1 and web2, and waits for their assignments.
func (f *Fleet) enrol(ctx context.Context) (err error) {
	terms := func(env string) document.TokenRequest {
		return document.TokenRequest{Fleet: "acme", Labels: map[string]string{"env": env, "role": "web"}}
	}
	if f.Web1, err = Enrol(ctx, f.Hub, "web1", terms("prod")); err != nil {
		return err
	}
	if f.Web2, err = Enrol(ctx, f.Hub, "web2", terms("test")); err != nil {
		return err
	}
	if _, err = Enrol(ctx, f.Hub, "db1", document.TokenRequest{Fleet: "acme", Approve: true}); err != nil {
		return err
	}
	for _, a := range []*Agent{f.Web1, f.Web2} {
		if err := a.Connect(ctx); err != nil {
			return err
		}
		if _, err := a.Assigned(ctx, 2); err != nil {
			return err
		}
	}
	return nil
}

// configuration returns the files of the repository: two modules for all targets with the role web.
func configuration() map[string]string {
	return map[string]string{
		"fettle.hcl": `target_group "web" {
  labels  = { role = "web" }
  modules = ["base", "web"]
}
policy { rollout = "at-once" }
`,
		"modules/base/module.hcl": "directory \"/srv\" {}\n",
		"modules/web/module.hcl":  "needs \"base\" {}\nfile \"/srv/index\" { content = \"more\" }\n",
	}
}

// Ready reports that all assigned modules are applied.
func (a *Agent) Ready(ctx context.Context) error {
	s, err := a.status(ctx, fleet.ModuleReady)
	if err != nil {
		return err
	}
	s.Facts = map[string]string{"os": "debian"}
	return a.Report(ctx, fleet.Event{Kind: fleet.Applied, Run: s.Run, Module: "modules/web", Changes: 3}, s)
}

// failed reports that modules/web failed, and that an older commit of the module is applied.
func (a *Agent) failed(ctx context.Context) error {
	s, err := a.status(ctx, fleet.ModuleReady)
	if err != nil {
		return err
	}
	s.Drift = 1
	web := &s.Modules[len(s.Modules)-1]
	web.State, web.Error = fleet.ModuleFailed, "cannot restart nginx"
	web.Commit, web.Bundle = strings.Repeat("a", 40), "sha256:"+strings.Repeat("a", 64)
	return a.Report(ctx, fleet.Event{Kind: fleet.Failed, Run: s.Run, Module: web.Module, Error: web.Error}, s)
}

// status returns the status after a run that applied the whole assignment.
func (a *Agent) status(ctx context.Context, state fleet.Readiness) (fleet.Status, error) {
	as, err := a.Assigned(ctx, 2)
	if err != nil {
		return fleet.Status{}, err
	}
	at := a.hub.Time().UnixNano()
	s := fleet.Status{Epoch: as.Epoch, Generation: as.Generation, Version: "1.0", Run: 4, Changed: at}
	for _, m := range as.Modules {
		s.Modules = append(s.Modules, fleet.ModuleStatus{Module: m.Module, Commit: m.Revision.Commit,
			Bundle: m.Bundle.Digest, State: state, Since: at})
	}
	return s, nil
}
