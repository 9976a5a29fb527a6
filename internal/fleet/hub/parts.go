package hub

import (
	"context"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/gates"
	"fettle.dev/fettle/internal/fleet/hub/assignments"
	"fettle.dev/fettle/internal/fleet/hub/binaries"
	"fettle.dev/fettle/internal/fleet/hub/certificates"
	"fettle.dev/fettle/internal/fleet/hub/contents"
	"fettle.dev/fettle/internal/fleet/hub/differences"
	"fettle.dev/fettle/internal/fleet/hub/environments"
	"fettle.dev/fettle/internal/fleet/hub/executors"
	"fettle.dev/fettle/internal/fleet/hub/exports"
	"fettle.dev/fettle/internal/fleet/hub/history"
	"fettle.dev/fettle/internal/fleet/hub/jobs"
	"fettle.dev/fettle/internal/fleet/hub/leader"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/locks"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/notices"
	"fettle.dev/fettle/internal/fleet/hub/repository"
	"fettle.dev/fettle/internal/fleet/hub/requests"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/hub/search"
	"fettle.dev/fettle/internal/fleet/hub/targets"
	"fettle.dev/fettle/internal/fleet/hub/users"
	"fettle.dev/fettle/internal/fleet/hub/waits"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/view"
)

// Hub is a running hub. Its methods are safe for concurrent use.
type Hub struct {
	core
	parts
	serveAPI serveFunc
}

// serveFunc serves users, hubs and enrolment until ctx ends. It is Hub.serveHTTP outside of
// simulations.
type serveFunc func(h *Hub, ctx context.Context) error

// parts are the topics of a hub.
type parts struct {
	repository   *repository.Follower
	targets      *targets.Registry
	jobs         *jobs.Queue
	certificates *certificates.Issuer
	requests     *requests.Handler
	users        users.Accounts
	contents     *contents.Contents
	binaries     *binaries.Store
	exports      *exports.Values
	agents       *assignments.Server
	executors    *executors.Opener
	leader       *leader.Leader
	rollouts     *rollouts.Log
	locks        *locks.Locks
	waits        *waits.Waits
	scopes       *scopes.Scopes
	history      *history.History
	index        *search.Index
	differences  *differences.Service
}

// newParts connects the parts. A part gets the parts that it uses as arguments, so they exist before
// it. The stores of the core must be open. released is called when a cloned target is trusted again.
func newParts(c *core, released func(fleet.TargetID)) (p parts) {
	p.repository = newRepository(c)
	p.targets = newTargets(c, p.repository, released)
	p.jobs = newJobs(c, p.targets)
	p.certificates = newCertificates(c, p.targets, p.jobs, p.repository)
	p.requests = newRequests(c, p.targets, p.certificates)
	p.users.Config = users.Config{Fleet: c.set.Fleet, Now: c.now, Keep: c.set.Retention.events(), Records: &c.records,
		Keys: c.keys, CheckHubToken: c.members.CheckHubToken, URL: firstOf(c.set.HubURLs)}
	p.contents = newContents(c, p.targets, p.repository)
	p.exports = exports.New(exports.Config{Now: c.now, Warn: c.warn, Context: c.context, Records: &c.records,
		Events: c.events, Trusted: p.targets.Trusted})
	p.agents = newAgents(c, p.targets, p.contents)
	p.executors = executors.New(executors.Config{Exchange: c.exchange, Timeout: silenceFor, Trusted: p.targets.Trusted,
		MissingHubs: func(ctx context.Context) error { return members.MissingHubs(ctx, c.members) }})
	p.rollouts = rollouts.NewLog(c.records.Rollouts)
	p.locks = locks.New(locks.Config{Now: c.now, Warn: c.warn, Records: &c.records, Events: c.events,
		Related: func(ctx context.Context, id fleet.TargetID) ([]fleet.TargetID, error) {
			return view.Related(ctx, c.view, id)
		},
		MayChange: c.members.MayChange, Trust: c.keyring.Trust, Trusted: p.targets.Trusted})
	p.waits = waits.New(waits.Config{Now: c.now, Warn: c.warn, Records: &c.records, Events: c.events,
		MayChange: c.members.MayChange, Trusted: p.targets.Trusted,
		Observe: func(ctx context.Context) (map[fleet.TargetID]document.Target, error) {
			return c.view.ByID(ctx, c.now())
		}})
	p.scopes = newScopes(c)
	view.SetScopes(c.view, p.scopes.ByTarget)
	c.assignments.Lost = func(id fleet.TargetID, issued time.Time) {
		c.retryQueue.Add(c.context(), limits.RetryTask{Key: "lost/" + string(id),
			Do: func(ctx context.Context) error { return scopes.NoteLoss(ctx, &c.records, c.events, id, issued) }})
	}
	p.leader = newLeader(c, p)
	p.scopes.OnHub = newOnHub(c, p.leader)
	p.binaries = newBinaries(c)
	p.differences = differences.New(differences.Config{Dir: c.dir("compared"), Compiler: c.conf.Comparer,
		Records: &c.records, Content: c.content, Repository: p.repository.Repository, Decide: p.leader.Decide,
		Now: c.now, Facts: func(ctx context.Context) (map[fleet.TargetID]map[string]string, error) {
			return view.FactsOf(ctx, c.view)
		}})
	p.history = history.New(history.Config{Hub: c.set.Name, Files: c.conf.Files, Dir: c.dir("history"), Now: c.now,
		Warn: c.warn, Fleet: c.view.Status, Load: history.ProcessLoad, Runs: c.runTimes})
	p.index = newIndex(c)
	return p
}

func firstOf(urls []string) string {
	if len(urls) == 0 {
		return ""
	}
	return urls[0]
}

// silenceFor limits the time that one request waits for a store or an agent that does not answer.
// Together with the search for missing hubs, the client gets an answer within 10 seconds.
const silenceFor = 8 * time.Second

func newRepository(c *core) *repository.Follower {
	return repository.New(repository.Config{Dir: c.dir("mirror"), Files: c.conf.Files, HookFile: c.dir(hookFile),
		Own: c.set.Repository, Sources: c.edge.sources, Now: c.now, Warn: c.warn, Records: &c.records, Events: c.events})
}

func newTargets(c *core, r *repository.Follower, released func(fleet.TargetID)) *targets.Registry {
	return targets.New(targets.Config{Hub: c.set.Name, Now: c.now, Warn: c.warn, Context: c.context,
		Records: &c.records, View: c.view, Events: c.events, RetryQueue: &c.retryQueue, Exchange: c.exchange,
		Metrics: c.metrics, Registrar: c.registrar, LogEnd: c.logEnd.Load, Repository: r.Repository, Released: released})
}

func newJobs(c *core, t *targets.Registry) *jobs.Queue {
	return jobs.New(jobs.Config{Now: c.now, Warn: c.warn, Keep: c.set.Retention.jobs(), Records: &c.records,
		Events: c.events, Exchange: c.exchange, Trusted: t.Trusted, IsCloned: t.IsCloned})
}

func newCertificates(c *core, t *targets.Registry, q *jobs.Queue, r *repository.Follower) *certificates.Issuer {
	return certificates.New(certificates.Config{
		Hub: c.set.Name, URLs: slices.Concat(c.set.HubURLs, c.set.BusURLs), Alone: c.members.Alone(),
		Files: c.conf.Files, Dir: c.conf.Dir, Now: c.now, Warn: c.warn, Context: c.context,
		Records: &c.records, Events: c.events, Exchange: c.exchange, Jobs: q,
		Keys: c.keys, Services: c.services, Revoked: c.revoked, Registrar: c.registrar,
		Active: t.Active, IsMember: c.members.IsMember,
		Introduce: func(ctx context.Context) error { return introduce(ctx, c, r) }})
}

func newRequests(c *core, t *targets.Registry, i *certificates.Issuer) *requests.Handler {
	return requests.New(requests.Config{Hub: c.set.Name, Now: c.now, Warn: c.warn, Context: c.context,
		Answers: c.set.Requests, Records: &c.records, Events: c.events, Targets: t, Certificates: i, Audit: c.trail.Append})
}

func newContents(c *core, t *targets.Registry, r *repository.Follower) *contents.Contents {
	return contents.New(contents.Config{Hub: c.set.Name, Now: c.now, Warn: c.warn, Store: c.content, Records: &c.records,
		Trust: c.keyring.Trust, TLS: c.keys.TLS, Trusted: t.Trusted, IsMember: c.members.IsMember, Alone: c.members.Alone,
		Repository: r, History: c.edge.history})
}

func newAgents(c *core, t *targets.Registry, s *contents.Contents) *assignments.Server {
	return assignments.NewServer(assignments.ServerConfig{Now: c.now, Warn: c.warn, Context: c.context,
		Records: &c.records, View: c.view, Exchange: c.exchange, RetryQueue: &c.retryQueue,
		Adopt: c.assignments.Adopt, IsCloned: t.IsCloned, OnClock: t.OnClock, Changed: s.Wake})
}

func newScopes(c *core) *scopes.Scopes {
	return scopes.New(scopes.Config{Now: c.now, Warn: c.warn, Records: &c.records, Events: c.events,
		Observe: func(ctx context.Context) (map[fleet.TargetID]document.Target, error) {
			return c.view.ByID(ctx, c.now())
		},
		Checks: func(ctx context.Context) (map[fleet.TargetID][]fleet.CheckResult, error) {
			return view.ChecksOf(ctx, c.view)
		}})
}

// newBranches returns the part that creates environments for branches.
func newBranches(c *core, r *repository.Follower) *environments.Follower {
	return environments.NewFollower(environments.Follower{Warn: c.warn, Branches: r.Branches, Repository: r.Repository,
		Service: environments.Service{Now: c.now, Records: &c.records, Events: c.events, HasRef: r.HasRef},
		Choose: func(ctx context.Context, words []string) (ids []fleet.TargetID, err error) {
			page, err := c.view.Targets(ctx, view.TargetQuery{Select: words, Now: c.now()})
			for _, t := range page.Targets {
				if t.Standing == fleet.Active {
					ids = append(ids, t.ID)
				}
			}
			return ids, err
		}})
}

// newLeader returns the leader. The parts before it must exist.
func newLeader(c *core, p parts) *leader.Leader {
	r, l, s, w, b := p.repository, p.rollouts, p.locks, p.waits, newBranches(c, p.repository)
	return leader.New(leader.Config{Hub: c.set.Name, Now: c.now, Warn: c.warn, Records: &c.records, Events: c.events,
		Assignments: c.assignments, Repository: r, Author: r.Author, Content: c.content,
		Compile:    c.conf.Compile.Targets,
		Strategies: c.conf.Compile.Strategies, Refollow: r.Refollow, Rollouts: l, Observed: c.view.Changed,
		Coordination: leader.Coordination{Locks: c.conf.Compile.Locks, DeclareLocks: s.Declare,
			Waits: c.conf.Compile.Waits, DeclareWaits: w.Declare,
			Scopes: c.conf.Compile.Scopes, DeclareScopes: p.scopes.Declare},
		IsAnyConnected: c.view.IsAnyConnected,
		Observe: func(ctx context.Context) (map[fleet.TargetID]document.Target, error) {
			return c.view.ByID(ctx, c.now())
		},
		Ready: func(ctx context.Context, module string) (map[fleet.TargetID]bool, error) {
			return c.view.ReadyTargets(ctx, module, c.now())
		},
		SetMemberships: c.view.SetMemberships, UnlessDismissed: c.members.UnlessDismissed,
		Tasks: []func(context.Context, uint64) error{c.members.Tend,
			func(ctx context.Context, _ uint64) error { return c.notices.Run(ctx) },
			func(ctx context.Context, _ uint64) error { return b.Run(ctx) },
			func(ctx context.Context, _ uint64) error { return s.Run(ctx) },
			func(ctx context.Context, _ uint64) error { return w.Run(ctx) },
			func(ctx context.Context, _ uint64) error { return p.scopes.Run(ctx) },
			func(ctx context.Context, _ uint64) error { return p.scopes.RunChecks(ctx) },
			func(ctx context.Context, _ uint64) error { return newAsker(c, l).Run(ctx) }}})
}

// newAsker returns the part that asks gates of rollouts. It uses the secrets of notifications.
func newAsker(c *core, l *rollouts.Log) *gates.Asker {
	return &gates.Asker{Rollouts: l, Now: c.now, Warn: c.warn,
		Programs: gates.Programs{Secrets: &notify.Sender{Files: c.conf.Files, Dir: c.dir(notices.Directory)},
			Name: func(id rollout.ID) string {
				t, _, _ := c.records.Targets.Get(string(id))
				return t.Name
			}},
		Record: func(ctx context.Context, all []rollout.Event) { rollouts.Record(ctx, c.events, all) }}
}

func newBinaries(c *core) *binaries.Store {
	return binaries.New(binaries.Config{Now: c.now, Content: c.content, Records: &c.records, Events: c.events,
		Authenticate: c.authenticate, Audit: c.trail.Append})
}

// noticesConfig returns the dependencies of the notifier. health examines this hub.
func noticesConfig(c *core, health func(context.Context) document.Health) notices.Config {
	return notices.Config{Hub: c.set.Name, Fleet: c.set.Fleet, Files: c.conf.Files, Dir: c.conf.Dir,
		Binary: c.conf.Binary, Now: c.now, Warn: c.warn, Context: c.context,
		Records: &c.records, View: c.view, Events: c.events, RetryQueue: &c.retryQueue,
		Health: health, HubAlarms: c.members.Alarms}
}
