// Package jobs stores the jobs of users, sends them to agents, and stores the answers.
//
//	q := jobs.New(jobs.Config{Records: table, Exchange: exchange, Trusted: trusted, …})
//	go q.Gather(ctx)
//	job, err := q.CreateJob(ctx, by, document.JobRequest{What: fleet.JobApply}, targets)
package jobs

import (
	"context"
	"encoding/json"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Config contains what a Queue needs of its hub.
type Config struct {
	Now  func() time.Time
	Warn func(text string)
	// Keep is the time for which finished and expired jobs stay.
	Keep time.Duration

	Records  *records.Table
	Events   events.Recorder
	Exchange fleet.Exchange
	// Trusted returns a target whose answers count. IsCloned reports whether a target gets no jobs.
	Trusted  func(context.Context, fleet.TargetID) (fleet.Target, error)
	IsCloned func(fleet.TargetID) bool
}

// Queue contains the jobs of a fleet. It is safe for concurrent use. A mutex of its dispatcher
// protects the answers that are not written yet; no other lock is taken under it.
type Queue struct {
	Config
	dispatcher   *dispatcher
	decompressor fleet.Decompressor // of answers
}

// New returns a queue. Records must be open.
func New(c Config) *Queue {
	q := &Queue{Config: c}
	q.dispatcher = newDispatcher(c.Records.Jobs, c.Exchange, c.Now, q.skips, func(err error) { c.Warn(err.Error()) })
	return q
}

// skips reports whether a target does not get a job now: it is cloned, or was moved out of the organization of the job.
// If the user who created the job had only grants, a present grant of this user must contain the target.
func (q *Queue) skips(r records.Job, id fleet.TargetID) bool {
	t, _, ok := q.Records.Targets.Get(string(id))
	if q.IsCloned(id) || r.Organization != "" && (!ok || !r.Organization.Contains(t.Organization)) {
		return true
	}
	return r.Granted && (!ok || !q.mayOperate(r.By, t))
}

// mayOperate reports whether a user has the right operate for a target, in the records that this hub has in memory. The
// job of a user without a record is offered again later.
func (q *Queue) mayOperate(user string, t fleet.Target) bool {
	var u access.User
	text, ok := q.Records.Users.Value(access.UserKey(user))
	return ok && json.Unmarshal(text, &u) == nil && u.MayOn(access.Operate, t)
}

// Deliver sends one target all its open jobs.
func (q *Queue) Deliver(ctx context.Context, id fleet.TargetID) { q.dispatcher.deliver(ctx, id) }

// Offer sends a job to each of its targets that is connected here.
func (q *Queue) Offer(ctx context.Context, r records.Job) { q.dispatcher.offer(ctx, r) }

// Gather writes the answers of agents until ctx ends.
func (q *Queue) Gather(ctx context.Context) error { return q.dispatcher.gather(ctx) }

// Remind sends open jobs again until ctx ends: a message or its answer can be lost.
func (q *Queue) Remind(ctx context.Context) error { return q.dispatcher.remind(ctx) }
