package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/agentconn"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/binaries"
	"fettle.dev/fettle/internal/fleet/hub/certificates"
	"fettle.dev/fettle/internal/fleet/hub/environments"
	"fettle.dev/fettle/internal/fleet/hub/locks"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/organizations"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/hub/waits"
	"fettle.dev/fettle/internal/fleet/route"
)

// apiTable returns the handlers of the API. The parts of the hub register most handlers. Package api has the handlers
// that find targets, and that write the answer themselves.
func apiTable(h *Hub) *api.Table {
	shown, slots := heldView{h.view, h.heldContent}, locks.Service{Of: h.locks}
	exemptions := rollouts.Exemptions{Now: h.now, Records: &h.records, Events: h.events}
	created := environments.Service{Now: h.now, Records: &h.records, Events: h.events, HasRef: h.repository.HasRef,
		CheckEnvironment: h.differences.CheckEnvironment}
	t := api.NewTable(shown)
	api.HandleThisHub(t, h)
	api.HandleStatus(t, h.view, h.targets)
	api.HandleTargets(t, h.targets)
	api.HandleFreezes(t, h.targets)
	api.HandleExecutors(t, h.executors)
	api.HandleRuns(t, h.executors)
	api.HandleModules(t, shown)
	api.HandleAssignments(t, h.leader, slots)
	api.HandleEvents(t, h.view)
	api.HandleJobs(t, h.jobs)
	api.HandleRollouts(t, h.rolloutService())
	api.HandleExemptions(t, exemptions)
	api.HandleEnvironments(t, created)
	api.HandleBinaries(t, h.binaries)
	api.HandleRequests(t, h.requests)
	api.HandleGetAt(t, route.AuditLog(), h.auditLog)
	for _, part := range []interface{ HandleRoutes(t *api.Table) }{
		h.repository, h.exports, h.jobs, h.rolloutService(), h.differences, exemptions, created, h.binaries, &h.users,
		h.members.HubStatus, h.members.Retirement, &h.notices, h.backups, h.requests, h.certificates, slots,
		waits.Service{Of: h.waits}, scopes.Service{Of: h.scopes}, h.history,
		organizations.Service{Records: &h.records, Freezes: h.targets, Rollouts: h.rolloutService()},
		searchService(&h.core, h.index, h.rolloutService()),
		rollouts.FleetRollbacks{Log: h.rollouts, Now: h.now, Records: &h.records,
			Branch: func() string { return h.repository.Repository().Branch }, Events: h.events},
	} {
		part.HandleRoutes(t)
	}
	return t
}

func (h *Hub) rolloutService() rollouts.Service {
	return rollouts.Service{Log: h.rollouts, Now: h.now, Targets: h.records.Targets, Events: h.events,
		Held: h.heldContent, Preview: h.leader.Preview}
}

// heldContent returns the content that is held.
func (h *Hub) heldContent() []fleet.HeldContent {
	all, _, _ := h.records.Alarms.Get(records.AlarmsKey)
	return rollouts.HeldContent(all)
}

// serveHTTP serves enrolment, content and the API until ctx ends: over TLS for all clients, and on
// the socket for root.
func (h *Hub) serveHTTP(ctx context.Context) error {
	trust, err := h.keyring.Trust()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", h.set.API)
	if err != nil {
		return withoutPort(err)
	}
	far := api.Server(limited(patient(h.withPages(h.routes(), h.apiHandler()))))
	far.ConnContext = agentconn.InContext
	far.TLSConfig = trust.ServerTLS(h.keys.TLS, h.now)
	far.TLSConfig.GetConfigForClient = h.handshakeLimiter.Admit
	g, ctx := errgroup.WithContext(ctx)
	https, _ := budgets(h.conf.Descriptors)
	g.Go(func() error { return far.ServeTLS(https.Limit(l, h.warn), "", "") })
	servers := []*http.Server{far}
	if h.conf.Socket != "" {
		near := api.Server(h.routes())
		near.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { return access.AsRoot(ctx) }
		s, err := h.conf.Listen(h.conf.Socket)
		if err != nil {
			return errors.Join(err, far.Close())
		}
		g.Go(func() error { return near.Serve(s) })
		servers = append(servers, near)
	}
	if h.conf.Ready != nil {
		h.conf.Ready(l.Addr(), h.bus.Address())
	}
	<-ctx.Done()
	for _, s := range servers {
		end, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		if s.Shutdown(end) != nil {
			_ = s.Close()
		}
		stop()
	}
	if err := g.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// withoutPort adds the remedy to an error of a hub that may not listen on its port.
func withoutPort(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("cannot listen on a port below 1024 without the capability CAP_NET_BIND_SERVICE: "+
		"use a higher port, or give it to the service, see docs/fleet-operations.md: %w", err)
}

// routes returns the handler of all routes. The routes of content and of renewal check the client
// certificate themselves, and enrolment checks its token. The table of the API defines the rest.
func (h *Hub) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/enrol", h.registrar.ServeEnrol)
	mux.HandleFunc("POST /v1/renew", h.registrar.ServeRenew)
	mux.HandleFunc("POST /v1/hubs/join", h.members.ServeJoin)
	mux.HandleFunc("POST "+certificates.CertifyPath, h.certificates.ServeCertify)
	mux.HandleFunc("POST "+certificates.CertifyServicesPath, h.certificates.ServeCertifyServices)
	mux.HandleFunc("POST /v1/facts", h.registrar.ServeRevocations)
	mux.Handle(content.HookPath, content.Hooks{Secret: h.repository.HookSecret, Poke: h.repository.Poke})
	mux.HandleFunc("POST "+binaries.UploadPath, h.binaries.ServeUpload)
	mux.HandleFunc("POST "+locks.PreRebootPath, h.locks.ServePreReboot)
	mux.HandleFunc("POST "+locks.SteadyStatePath, h.locks.ServeSteadyState)
	mux.Handle(content.Path, h.contents.Server)
	mux.Handle(content.HistoryPath, h.contents.Histories)
	mux.Handle("/", h.apiHandler())
	return patient(mux)
}

// apiHandler returns the handler of the table of the API.
func (h *Hub) apiHandler() http.Handler {
	return &api.Handler{Table: apiTable(h), Authenticate: h.authenticate, Now: h.now, Audit: h.trail.Append,
		Metrics: h.metrics, NewID: records.NewID, MayChange: h.members.MayChange,
		Missing: func(ctx context.Context) error { return members.MissingHubs(ctx, h.members) }}
}

// patient limits the time that a request waits for a store that does not answer.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(bus.WithSilence(r.Context(), silenceFor)))
	})
}
