package binary

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/debver"
)

// The maximum number of starts without a connection to a hub.
const (
	maxTries  = 3  // of a binary on trial
	maxStarts = 10 // of the chosen binary
)

// Build identifies a binary by the digest of its file.
type Build struct {
	Digest  string `json:"digest"` // sha256:hex
	Version string `json:"version"`
}

// Trial is a binary that has not reached a hub yet.
type Trial struct {
	Build
	Within time.Duration `json:"within_ns"` // time limit to reach a hub
	Starts int           `json:"starts"`
}

// Failure is a binary that failed, with the reason.
type Failure struct {
	Build
	Why string `json:"why"`
}

// Kept is the stored state. All binaries of a host share it. The zero value means that the host
// runs the binary of its package.
type Kept struct {
	Format string `json:"format"`
	// Package is the binary of the package, as it was last seen.
	Package Self `json:"package"`
	// Chosen is the binary that replaces the binary of the package; nil: none.
	Chosen *Build `json:"chosen,omitempty"`
	// Starts is the number of starts of Chosen since it last reached a hub.
	Starts int      `json:"starts,omitempty"`
	Trial  *Trial   `json:"trial,omitempty"`
	Failed *Failure `json:"failed,omitempty"`
}

// Self is the running binary.
type Self struct {
	// Digest is "" for the binary of the package.
	Digest  string `json:"digest,omitempty"`
	Version string `json:"version"`
}

// Choice is the task of a binary after its start.
type Choice int

// The choices. The zero value is safe.
const (
	Stay   Choice = iota // run as the agent
	Become               // execute Chosen instead
	Try                  // start Trial as a child, and supervise it
)

// Decide returns the task of the running binary. The returned state must be durable before the
// binary acts.
func Decide(k Kept, self Self) (Kept, Choice) {
	k.Format = Format
	if self.Digest == "" {
		k = k.installed(self)
	}
	switch {
	case k.Trial != nil && k.Trial.Digest == self.Digest:
		return k, Stay
	case k.Trial != nil && k.Trial.Starts >= maxTries:
		return Decide(k.Fail(k.Trial.Build, fmt.Sprintf("it was started %d times and never reached a hub", k.Trial.Starts)),
			self)
	case k.Trial != nil:
		t := *k.Trial
		t.Starts++
		k.Trial = &t
		return k, Try
	case k.Chosen == nil || k.Chosen.Digest == self.Digest:
		return k, Stay
	case k.Starts >= maxStarts:
		return k.Fail(*k.Chosen, fmt.Sprintf("it was started %d times and ended each time", k.Starts)), Stay
	}
	k.Starts++
	return k, Become
}

// installed records the binary of the package. If it is newer than the chosen binary, it replaces
// the choice.
func (k Kept) installed(self Self) Kept {
	if k.Package == self {
		return k
	}
	k.Package = self
	if k.Chosen != nil && debver.Compare(self.Version, k.Chosen.Version) > 0 {
		k.Chosen, k.Starts = nil, 0
	}
	if k.Trial != nil && debver.Compare(self.Version, k.Trial.Version) > 0 {
		k.Trial = nil
	}
	return k
}

// Begin puts a binary on trial at the next start.
func (k Kept) Begin(b Build, within time.Duration) Kept {
	k.Format, k.Trial, k.Failed = Format, &Trial{Build: b, Within: within}, nil
	return k
}

// Settled records that the binary with a digest works. If it was on trial, it becomes the chosen
// binary.
func (k Kept) Settled(digest string) Kept {
	if k.Trial != nil && k.Trial.Digest == digest {
		b := k.Trial.Build
		k.Chosen, k.Trial, k.Failed = &b, nil, nil
	}
	if k.Chosen != nil && k.Chosen.Digest == digest {
		k.Starts = 0
	}
	return k
}

// Fail records that a binary failed. It does not start again until Begin.
func (k Kept) Fail(b Build, why string) Kept {
	if k.Trial != nil && k.Trial.Digest == b.Digest {
		k.Trial = nil
	}
	if k.Chosen != nil && k.Chosen.Digest == b.Digest {
		k.Chosen, k.Starts = nil, 0
	}
	k.Failed = &Failure{b, why}
	return k
}
