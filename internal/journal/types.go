package journal

import "time"

// RunInfo is one line of the history.
type RunInfo struct {
	Header  Header  `json:"header"`
	Started int64   `json:"started"`           // ns since 1970
	Ended   int64   `json:"ended,omitempty"`   // 0: it has not ended
	Outcome Outcome `json:"outcome,omitempty"` // "" while unfinished
	Error   string  `json:"error,omitempty"`   // of the first step that failed
	Changed int     `json:"changed"`           // addresses changed
	// damaged: the journal cannot be read to its end.
	damaged bool
}

// Frozen means that applying is refused until an operator unfreezes the host, or until its end.
type Frozen struct {
	By    string `json:"by"`
	At    int64  `json:"at"` // ns since 1970
	Why   string `json:"why,omitempty"`
	Until int64  `json:"until,omitempty"` // ns since 1970; 0: it has no end
}

// Arming means that a run undoes itself unless it is confirmed.
type Arming struct {
	Run      int   `json:"run"`
	Deadline int64 `json:"deadline"` // ns since 1970
}

// Retention is a retention rule: a run remains if any part of the rule retains it.
type Retention struct {
	Runs   int           // the newest this many; 0 means 50
	Within time.Duration // and all runs younger than this
	DryRun bool          // only report
}

// Collected has the number of removed files, or of files that would be removed.
type Collected struct {
	Runs    []int `json:"runs"`
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}
