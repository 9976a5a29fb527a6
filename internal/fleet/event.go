package fleet

import (
	"errors"
	"fmt"
)

// HubEventFormat is the supported format.
const HubEventFormat = "fettle.event/1"

// MaxHubEvent is the maximum size of an event of a hub in the log, in bytes.
const MaxHubEvent = 16 << 10

// HubEvent is an action of a hub or a user, as a record of the Log. The Log also contains the
// Reports of agents.
type HubEvent struct {
	Format string       `json:"format"`
	At     int64        `json:"at"` // ns since 1970, the hub's clock
	Kind   HubEventKind `json:"kind"`
	Target TargetID     `json:"target,omitempty"` // if it concerns one target
	Module string       `json:"module,omitempty"`
	By     string       `json:"by,omitempty"`   // a user, or "hub ID"
	Text   string       `json:"text,omitempty"` // for display, without secrets
	Error  string       `json:"error,omitempty"`
	// Organization is set if the event concerns all targets of an organization, and no other ones. Then its text contains
	// no names of other organizations.
	Organization Organization `json:"organization,omitempty"`
}

// HubEventKind is the kind of an event at a hub.
type HubEventKind string

// Kinds of events of hubs.
const (
	TargetEnrolled       HubEventKind = "enrolled"
	Approved             HubEventKind = "approved"
	Labelled             HubEventKind = "labelled"
	Moved                HubEventKind = "moved" // a target belongs to another organization
	Pinned               HubEventKind = "pinned"
	Unpinned             HubEventKind = "unpinned"
	TargetFrozen         HubEventKind = "froze"
	TargetUnfrozen       HubEventKind = "unfroze"
	TargetRetired        HubEventKind = "retired"
	TargetRevoked        HubEventKind = "revoked"
	AssignmentIssued     HubEventKind = "granted"   // a new assignment
	AssignmentBlocked    HubEventKind = "guarded"   // an assignment that was not made: the source or the selection looks wrong
	RolloutChanged       HubEventKind = "rollout"   // a rollout began, advanced, paused or ended
	LockChanged          HubEventKind = "lock"      // a lock is declared, or a slot was acquired, released or lost
	BarrierChanged       HubEventKind = "barrier"   // a target arrived at a barrier, or a generation opened
	SignalChanged        HubEventKind = "signal"    // a signal is declared, was sent or cleared
	ScopeChanged         HubEventKind = "scope"     // a scope is declared, or has another verdict
	TaskChanged          HubEventKind = "task"      // an attempt of a task of a scope began or ended, or a user decided
	RepositoryUpdated    HubEventKind = "followed"  // a repository has a new commit
	RepositoryUnreadable HubEventKind = "unread"    // a repository cannot be read
	JobChanged           HubEventKind = "job"       // a user created or cancelled a job
	LeaderChanged        HubEventKind = "led"       // another hub is the leader now
	BinarySet            HubEventKind = "binary"    // a user set the binary of agents
	ExportsChanged       HubEventKind = "exported"  // a target exports different values, or changes them too often
	RequestReceived      HubEventKind = "requested" // an agent sent a request that is not decided
	RequestPolicyChanged HubEventKind = "ruled"     // a user changed the policy for requests of agents
	ServiceCertified     HubEventKind = "certified" // a service of a target has a certificate
	Suspected            HubEventKind = "suspected" // a target is not reliable
	Trusted              HubEventKind = "trusted"   // a suspect target is reliable again
	ClockSkewed          HubEventKind = "skewed"    // the clock of a target is wrong, or right again
	Audited              HubEventKind = "audited"   // a user requested a change through the API
	BackupMade           HubEventKind = "saved"     // a backup was made
	ProtocolViolated     HubEventKind = "violated"  // an agent violates the protocol, or floods its hub
	NoticeUndelivered    HubEventKind = "untold"    // a notice that could not be delivered for a day
)

// ParseHubEvent parses an event. It ignores unknown fields, which a newer hub may write.
func ParseHubEvent(b []byte) (HubEvent, error) {
	if len(b) > MaxHubEvent {
		return HubEvent{}, fmt.Errorf("cannot read an event of %d bytes: the maximum is %d", len(b), MaxHubEvent)
	}
	var e HubEvent
	if err := decodeReport(b, &e); err != nil {
		return HubEvent{}, fmt.Errorf("cannot read an event: %w", err)
	}
	if e.Format != HubEventFormat {
		return HubEvent{}, fmt.Errorf("cannot read an event of the format %.40q: this version of fettle supports %s",
			e.Format, HubEventFormat)
	}
	if e.Kind == "" {
		return HubEvent{}, errors.New("cannot read an event without a kind")
	}
	if e.Target == "" {
		return e, nil
	}
	_, err := ParseTargetID(string(e.Target))
	return e, err
}
