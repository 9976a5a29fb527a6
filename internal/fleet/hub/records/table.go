// Package records contains everything that the hubs of a fleet store together: the buckets, the
// forms of their entries, and a copy of most buckets in the memory of each hub.
//
//	var t records.Table
//	err := t.Open(ctx, bus.Store, records.Options{Away: mayChange, Assignment: parse, Pack: pack})
//	t.Freezes.Changed = func(key string, f assign.Freeze, rev uint64, gone bool) { … }
//	t.Follow(ctx, group)
//	err = t.Filled(ctx)
//	f, rev, ok := t.Freezes.Get("web1")
//
// [Table] lists all buckets and mirrors. A new mirror is a field of Table and an entry of its bucket
// in Table.buckets.
package records

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/coordination/barrier"
	"fettle.dev/fettle/internal/fleet/coordination/signal"
	"fettle.dev/fettle/internal/fleet/coordination/task"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/notify"
)

// Table contains the buckets of a fleet and their mirrors. The zero value is empty; Open fills it.
// The fields do not change after Open. Each mirror has its own lock, and Changed is called without that lock.
type Table struct {
	// Buckets contains the store of each bucket by its name, also of buckets without a mirror.
	Buckets map[string]fleet.Store

	Agreed
	Hubs
	Targets *Mirror[fleet.Target]
	Delivered
	Jobs *Mirror[Job]

	Repositories *Mirror[Repository]
	Refs         *Mirror[Ref] // by RefKey
	Freezes      *Mirror[assign.Freeze]
	Orders
	Binaries           *Mirror[assign.BinarySetting]
	Approvals          *Mirror[assign.Approval]
	MinimumGenerations *Mirror[fleet.Have]

	Requests           *Mirror[Request] // by RequestKey
	RequestPolicies    *Mirror[fleet.RequestPolicy]
	TargetCertificates *Mirror[TargetCertificates]
	RevocationLists    *Mirror[RevocationList]

	Notifications *Mirror[document.Notification]
	Notices       *Mirror[notify.State] // by the name of the rule
	Alarms        *Mirror[[]assign.Alarm]
	Incompatible  *Mirror[Incompatible]

	Users, Tokens LastKnown

	Labels  fleet.LabelPool // of the registry and of assignments
	mirrors []opened
}

// Orders are the mirrors of decisions of operators that take effect on many targets.
type Orders struct {
	Replacements     *Mirror[assign.Replacement] // by RefKey of the part
	Exemptions       *Mirror[assign.Exemption]   // by ID
	Environments     *Mirror[assign.Environment] // by name
	EnvironmentRules *Mirror[EnvironmentRule]    // by name
	FollowedBranches *Mirror[FollowedBranches]   // by name of the rule
	// Limits contains the limits of organizations that the repository declares: one entry, assign.LimitsKey.
	Limits *Mirror[[]fleet.Limits]
}

// Agreed are the mirrors of values that hubs change one after another.
type Agreed struct {
	Epochs *Mirror[Epoch] // one entry, EpochKey
	Locks  *Mirror[Lock]  // by the name of the lock
	// Barriers and Signals are by name.
	Barriers *Mirror[Formatted[barrier.State]]
	Signals  *Mirror[Formatted[signal.State]]
	// Scopes are by KIND/NAME, and Tasks by KIND/NAME/TASK.
	Scopes       *Mirror[Formatted[Scope]]
	Tasks        *Mirror[Formatted[task.State]]
	Restorations *Mirror[Restoration]
}

// Hubs are the mirrors of the hubs of a fleet, by the name of the hub.
type Hubs struct {
	Signers *Mirror[[]byte] // certificates of the signing keys
	Members *Mirror[Member]
	Leaving *Mirror[Leaving]
	Lost    *Mirror[Member] // hubs that were in the fleet before it was restored
}

// Delivered are the mirrors of assignments, and of the decisions and values that change them.
type Delivered struct {
	Assignments *Mirror[Assignment]
	Rollouts    *Mirror[StoredRollouts] // by number
	Exports     *Mirror[Exports]
}

// Options contain the functions that records need of a hub.
type Options struct {
	// Away returns an error while most hubs are down.
	Away func() error
	// Assignment decodes and verifies an assignment, and Pack encodes it.
	Assignment func([]byte) (Assignment, error)
	Pack       func(Assignment) ([]byte, error)
}

// bucket is a store that all hubs share, with its mirrors. Its name is on disk.
type bucket struct {
	name string
	// saved means that backups contain the bucket, because no other copy of its data exists.
	saved   bool
	mirrors []row
}

// buckets is the table. Backups are loaded in this order.
func (t *Table) buckets(o Options) []bucket {
	return []bucket{
		{"settings", true, []row{
			mirror(&t.Signers, "signer/", Raw, nil),
			mirror(&t.Epochs, "rule/", nil, nil),
			mirror(&t.Locks, "lock/", ParseLock, nil),
			mirror(&t.Barriers, "barrier/", ParseBarrier, nil),
			mirror(&t.Signals, "signal/", ParseSignal, nil),
			mirror(&t.Members, MemberPrefix, nil, nil),
			mirror(&t.Leaving, "leaving/", nil, nil),
			mirror(&t.Lost, LostPrefix, nil, nil),
			mirror(&t.Repositories, "repository/", nil, nil),
			mirror(&t.Refs, "ref/", nil, nil),
			mirror(&t.Freezes, "freeze/", nil, nil),
			mirror(&t.Limits, "limits/", nil, nil),
			mirror(&t.Replacements, "replacement/", nil, nil),
			mirror(&t.Exemptions, "exemption/", nil, nil),
			mirror(&t.Environments, "environment/", nil, nil),
			mirror(&t.EnvironmentRules, "follow/", nil, nil),
			mirror(&t.FollowedBranches, "followed/", nil, nil),
			mirror(&t.Binaries, "program/", nil, nil),
			mirror(&t.Approvals, "approval/", nil, nil),
			mirror(&t.MinimumGenerations, "floor/", nil, nil),
			mirror(&t.Requests, "ask/", nil, nil),
			mirror(&t.RequestPolicies, "askpolicy/", nil, nil),
			mirror(&t.TargetCertificates, "served/", nil, nil),
			mirror(&t.RevocationLists, "list/", nil, nil),
			mirror(&t.Notifications, "notify/", nil, nil),
		}},
		{"facts", true, nil},
		{"people", true, []row{lastKnown(&t.Users, o.Away)}},
		{"tokens", true, []row{lastKnown(&t.Tokens, o.Away)}},
		{"targets", true, []row{mirror(&t.Targets, "", t.ParseTarget, nil)}},
		{"names", true, nil},
		{"requests", true, []row{mirror(&t.Jobs, "", ParseJob, FormatJob)}},
		{"notices", true, []row{
			mirror(&t.Notices, "rule/", nil, nil),
			mirror(&t.Alarms, "alarms/", nil, nil),
			mirror(&t.Incompatible, "protocol/", nil, nil),
		}},
		{"scopes", true, []row{
			mirror(&t.Scopes, "scope/", ParseScope, nil),
			mirror(&t.Tasks, "task/", ParseTask, nil),
			mirror(&t.Restorations, "restored/", nil, nil),
		}},
		// Decoding an assignment needs the keys of the signers.
		{"assignments", false, []row{after(&t.Signers, mirror(&t.Assignments, "", o.Assignment, o.Pack))}},
		{"rollouts", true, []row{mirror(&t.Rollouts, "", ParseRollouts, FormatRollouts)}},
		{"lists", false, nil},   // modules that assignments share
		{"results", false, nil}, // outputs of jobs
		{"leases", false, nil},
		{"exports", false, []row{mirror(&t.Exports, "", ParseExports, nil)}},
	}
}

// Open opens all buckets and creates the mirrors, which are empty until Follow.
func (t *Table) Open(ctx context.Context, store func(ctx context.Context, name string) (fleet.Store, error),
	o Options) error {
	t.Buckets = map[string]fleet.Store{}
	all := t.buckets(o)
	for _, b := range all {
		s, err := store(ctx, b.name)
		if err != nil {
			return fmt.Errorf("cannot open the bucket %s: %w", b.name, err)
		}
		t.Buckets[b.name] = s
	}
	var after []func() followed
	for _, b := range all {
		for _, r := range b.mirrors {
			t.mirrors = append(t.mirrors, opened{followed: r.open(t.Buckets[b.name])})
			after = append(after, r.after)
		}
	}
	for i, first := range after {
		if first != nil {
			t.mirrors[i].after = first()
		}
	}
	return nil
}

// Follow starts to update the mirrors in g until ctx ends. Set the field Changed of mirrors before.
func (t *Table) Follow(ctx context.Context, g *errgroup.Group) {
	for _, m := range t.mirrors {
		g.Go(func() error {
			if m.after != nil {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-m.after.Filled():
				}
			}
			return m.Follow(ctx)
		})
	}
}

// Filled waits until the mirrors have all entries that existed when Follow was called.
func (t *Table) Filled(ctx context.Context) error {
	for _, m := range t.mirrors {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-m.Filled():
		}
	}
	return nil
}

// Names returns the names of all buckets.
func Names() []string { return names(func(bucket) bool { return true }) }

// Saved returns the names of the buckets in a backup, in the order in which a backup is loaded.
func Saved() []string { return names(func(b bucket) bool { return b.saved }) }

func names(is func(bucket) bool) (out []string) {
	for _, b := range new(Table).buckets(Options{}) {
		if is(b) {
			out = append(out, b.name)
		}
	}
	return out
}

// ParseTarget decodes a target of the registry. Equal strings and labels share memory.
func (t *Table) ParseTarget(b []byte) (v fleet.Target, err error) {
	if err := json.Unmarshal(b, &v); err != nil {
		return v, err
	}
	v.Labels = t.Labels.Labels(v.Labels)
	v.Fleet, v.Standing, v.Token, v.By = fleet.Intern(v.Fleet), fleet.Intern(v.Standing), fleet.Intern(v.Token),
		fleet.Intern(v.By)
	return v, nil
}
