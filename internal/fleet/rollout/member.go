package rollout

// MemberState is the state of a member in its rollout.
type MemberState string

// The states of members. A pending member without contact is deferred, see Rollout.Waiting.
const (
	MemberPending  MemberState = "pending"
	MemberGranted  MemberState = "granted"
	MemberReady    MemberState = "ready"
	MemberFailed   MemberState = "failed"
	MemberSilent   MemberState = "silent"
	MemberSkipped  MemberState = "skipped"
	MemberReturned MemberState = "returned"
	MemberLeft     MemberState = "left"
)

// Member is a target of a rollout.
type Member struct {
	Wave    int         `json:"wave"`
	State   MemberState `json:"state"`
	Granted int64       `json:"granted,omitempty"` // time of the last grant; 0: none
	Before  []Change    `json:"before,omitempty"`  // the content before the first grant
	Why     string      `json:"why,omitempty"`     // it failed or was skipped
	// Lost reports that the member had failed already when it was granted the change. It then does not count as
	// failed or unavailable until it is ready once: the change did not cause this.
	Lost bool `json:"lost,omitempty"`

	forgiven bool // an operator accepted that it failed or is silent
}

// touched reports whether the member may have the change.
func (m *Member) touched() bool {
	return m.Granted > 0 && m.State != MemberLeft && m.State != MemberReturned
}

// moving reports whether the result of a grant is open.
func (m *Member) moving() bool { return m.State == MemberGranted }

// untouched reports whether the member was never granted the change.
func (m *Member) untouched() bool {
	return m.State == MemberPending && m.Granted == 0 && len(m.Before) == 0
}
