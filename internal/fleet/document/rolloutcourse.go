package document

// RolloutCourse is the numbers of targets of a rollout over time. Times are in seconds since 1970.
type RolloutCourse struct {
	Targets int `json:"targets"` // of the rollout
	// Span is the smallest time between two points. Changes that took less time are not in the points.
	Span   int64          `json:"span"`
	Points []RolloutPoint `json:"points"`
	Marks  []RolloutMark  `json:"marks"` // at most 40, the newest ones
}

// RolloutPoint is the numbers of targets from a time until the next point.
type RolloutPoint struct {
	At      int64 `json:"at"`
	Granted int   `json:"granted"` // may have the change
	Ready   int   `json:"ready"`
	Failed  int   `json:"failed"` // or have no contact since the grant
}

// RolloutMark is an event of the whole rollout.
type RolloutMark struct {
	At   int64  `json:"at"`
	Text string `json:"text"` // wave NAME, paused, resumed, aborted, rolling-back, completed, …
}
