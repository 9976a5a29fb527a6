package fleet

import (
	"errors"
	"fmt"
)

// HubEventFormat is the format that this program writes and reads.
const HubEventFormat = "fettle.event/1"

// MaxHubEvent bounds an event of a hub in the log, in bytes.
const MaxHubEvent = 16 << 10

// HubEvent is what a hub or a person did, as a record of the Log. What agents tell
// stands beside it there as Report.
type HubEvent struct {
	Format string       `json:"format"`
	At     int64        `json:"at"` // ns since 1970, the hub's clock
	Kind   HubEventKind `json:"kind"`
	Target TargetID     `json:"target,omitempty"` // where it is about one
	Module string       `json:"module,omitempty"`
	By     string       `json:"by,omitempty"`   // a person, or "hub ID"
	Text   string       `json:"text,omitempty"` // for people, without secrets
	Error  string       `json:"error,omitempty"`
}

// HubEventKind is what happened at a hub.
type HubEventKind string

// What hubs tell.
const (
	Joined     HubEventKind = "enrolled"
	Approved   HubEventKind = "approved"
	Labelled   HubEventKind = "labelled"
	Pinned     HubEventKind = "pinned"
	Unpinned   HubEventKind = "unpinned"
	Froze      HubEventKind = "froze"
	Unfroze    HubEventKind = "unfroze"
	Left       HubEventKind = "retired"
	Distrust   HubEventKind = "revoked"
	Granted    HubEventKind = "granted"   // a new assignment
	Guarded    HubEventKind = "guarded"   // an assignment that was not made: the source or the selection looks wrong
	Followed   HubEventKind = "followed"  // a repository has a new commit
	Unread     HubEventKind = "unread"    // a repository cannot be read
	JobChanged HubEventKind = "job"       // a user created or cancelled a job
	Led        HubEventKind = "led"       // another hub leads now
	BinarySet  HubEventKind = "binary"    // a user set the binary of agents
	Exported   HubEventKind = "exported"  // a target exports other values, or does so too often
	Requested  HubEventKind = "requested" // an agent sent a request that is not decided
	Ruled      HubEventKind = "ruled"     // a user changed the policy for requests of agents
	Certified  HubEventKind = "certified" // a service of a target has a certificate
	Suspected  HubEventKind = "suspected" // a target is not to be relied on
	Trusted    HubEventKind = "trusted"   // it is again
	Skewed     HubEventKind = "skewed"    // the clock of a target is wrong, or right again
	Audited    HubEventKind = "audited"   // somebody asked the API to change something
	Saved      HubEventKind = "saved"     // a backup was made
	Violated   HubEventKind = "violated"  // an agent does not keep to the protocol, or floods its hub
	Untold     HubEventKind = "untold"    // a notice that nobody took for a day
)

// ParseHubEvent reads one. It ignores fields that it does not know, of a newer hub.
func ParseHubEvent(b []byte) (HubEvent, error) {
	if len(b) > MaxHubEvent {
		return HubEvent{}, fmt.Errorf("cannot read an event of %d bytes: %d are the most", len(b), MaxHubEvent)
	}
	var e HubEvent
	if err := decodeReport(b, &e); err != nil {
		return HubEvent{}, fmt.Errorf("cannot read an event: %w", err)
	}
	if e.Format != HubEventFormat {
		return HubEvent{}, fmt.Errorf("cannot read an event of the format %.40q: this program knows %s", e.Format, HubEventFormat)
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
