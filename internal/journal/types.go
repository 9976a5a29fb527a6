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

// Frozen says that applying is refused until somebody unfreezes.
type Frozen struct {
	By  string `json:"by"`
	At  int64  `json:"at"` // ns since 1970
	Why string `json:"why,omitempty"`
}

// Arming says that a run undoes itself unless it is confirmed.
type Arming struct {
	Run      int   `json:"run"`
	Deadline int64 `json:"deadline"` // ns since 1970
}

// Keep is a retention rule: a run stays when any part of it says so.
type Keep struct {
	Runs   int           // the newest this many; 0 means 50
	Within time.Duration // and all younger than this
	DryRun bool          // only tell
}

// Collected is what a collection removed, or would remove.
type Collected struct {
	Runs    []int `json:"runs"`
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}
