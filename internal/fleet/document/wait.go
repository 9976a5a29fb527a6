package document

import "fettle.dev/fettle/internal/fleet"

// The formats of BarrierPage and SignalPage.
const (
	BarrierPageFormat = "fettle.fleet.barriers/1"
	SignalPageFormat  = "fettle.fleet.signals/1"
)

// BarrierPage has all barriers of a fleet, sorted by name.
type BarrierPage struct {
	Format   string    `json:"format"`
	Barriers []Barrier `json:"barriers"`
}

// Barrier describes a barrier for users. Times are in ns since 1970.
type Barrier struct {
	Name         string `json:"name"`
	Quorum       string `json:"quorum"`                     // all, a number, or a percentage such as 80%
	OfflineAfter int64  `json:"offline_after_ns,omitempty"` // 0: members that are offline always count
	Generation   uint64 `json:"generation"`                 // the number of generations that opened
	Opened       int64  `json:"opened,omitempty"`           // time of a recent opening; 0: none
	// Arrived, Required and Counted are the arrivals of the next generation, the arrivals that open it, and the members
	// that count.
	Arrived  int `json:"arrived"`
	Required int `json:"required"`
	Counted  int `json:"counted"`
	// Undeclared means that the repository no longer declares the barrier, so arrivals are refused.
	Undeclared bool            `json:"undeclared,omitempty"`
	Members    []BarrierMember `json:"members"` // sorted by name
}

// BarrierMember is a target that is a member of a barrier.
type BarrierMember struct {
	Target fleet.TargetID     `json:"target,omitempty"` // "" if it is not enrolled
	Name   string             `json:"name"`
	State  BarrierMemberState `json:"state"`
	Since  int64              `json:"since,omitempty"` // of the arrival
}

// BarrierMemberState tells whether a member has arrived, and whether it counts.
type BarrierMemberState string

// States of members. Only arrived and expected members count.
const (
	MemberArrived     BarrierMemberState = "arrived"
	MemberExpected    BarrierMemberState = "expected"
	MemberNotEnrolled BarrierMemberState = "not_enrolled"
	MemberRetired     BarrierMemberState = "retired"
	MemberRevoked     BarrierMemberState = "revoked"
	MemberSuspect     BarrierMemberState = "suspect"
	MemberFrozen      BarrierMemberState = "frozen"
	MemberOffline     BarrierMemberState = "offline"
)

// SignalPage has all signals of a fleet, sorted by name.
type SignalPage struct {
	Format  string   `json:"format"`
	Signals []Signal `json:"signals"`
}

// Signal describes a signal for users. Times are in ns since 1970.
type Signal struct {
	Name    string   `json:"name"`
	Keep    int64    `json:"keep_ns"`
	Senders []string `json:"senders"` // names of the targets that can send
	// Undeclared means that the repository no longer declares the signal.
	Undeclared bool         `json:"undeclared,omitempty"`
	Sent       []SentSignal `json:"sent"` // that count, the newest last
}

// SentSignal is a signal that was sent.
type SentSignal struct {
	Sender  string         `json:"sender"`           // name of the user or of the target
	Target  fleet.TargetID `json:"target,omitempty"` // "" for a user
	Payload string         `json:"payload,omitempty"`
	First   int64          `json:"first"` // before its repetitions
	At      int64          `json:"at"`
}

// SignalRequest sends a signal.
type SignalRequest struct {
	Payload string `json:"payload,omitempty"`
}
