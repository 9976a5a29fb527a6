package binary

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/debver"
)

// Bounds on how often a program is begun without reaching a hub.
const (
	maxTries  = 3  // of one that is being tried
	maxStarts = 10 // of one that was taken
)

// Build is a program: the digest of its file names it.
type Build struct {
	Digest  string `json:"digest"` // sha256:hex
	Version string `json:"version"`
}

// Trial is a program that has not reached a hub yet.
type Trial struct {
	Build
	Within time.Duration `json:"within_ns"` // that it has for it
	Starts int           `json:"starts"`
}

// Failure is a program that did not do, and why.
type Failure struct {
	Build
	Why string `json:"why"`
}

// Kept is what all programs of a machine know of each other. The zero value is a machine
// that runs what its package installed.
type Kept struct {
	Format string `json:"format"`
	// Package is the installed program as it was last seen.
	Package Self `json:"package"`
	// Chosen runs in the place of the installed one; nil: none does.
	Chosen *Build `json:"chosen,omitempty"`
	// Starts counts how often Chosen was begun since it last did well.
	Starts int      `json:"starts,omitempty"`
	Trial  *Trial   `json:"trial,omitempty"`
	Failed *Failure `json:"failed,omitempty"`
}

// Self is the program that runs.
type Self struct {
	// Digest is "" for the one that the package installed.
	Digest  string `json:"digest,omitempty"`
	Version string `json:"version"`
}

// Choice says what a program that was begun is to do.
type Choice int

// The choices. The zero value is safe.
const (
	Stay   Choice = iota // be the agent
	Become               // give way to Chosen
	Try                  // look after Trial
)

// Decide says what the program self does now, and what has to be written down before.
func Decide(k Kept, self Self) (Kept, Choice) {
	k.Format = Format
	if self.Digest == "" {
		k = k.installed(self)
	}
	switch {
	case k.Trial != nil && k.Trial.Digest == self.Digest:
		return k, Stay
	case k.Trial != nil && k.Trial.Starts >= maxTries:
		return Decide(k.Fail(k.Trial.Build, fmt.Sprintf("it was begun %d times and never reached a hub", k.Trial.Starts)), self)
	case k.Trial != nil:
		t := *k.Trial
		t.Starts++
		k.Trial = &t
		return k, Try
	case k.Chosen == nil || k.Chosen.Digest == self.Digest:
		return k, Stay
	case k.Starts >= maxStarts:
		return k.Fail(*k.Chosen, fmt.Sprintf("it was begun %d times and did not stay", k.Starts)), Stay
	}
	k.Starts++
	return k, Become
}

// installed takes in what the package installed. What is newer than the one that was
// chosen takes its place.
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

// Begin has a program tried the next time that one starts.
func (k Kept) Begin(b Build, within time.Duration) Kept {
	k.Format, k.Trial, k.Failed = Format, &Trial{Build: b, Within: within}, nil
	return k
}

// Settled says that the program with a digest has done well. One that was on trial is
// chosen then.
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

// Fail says that a program did not do. It is not begun again until Begin.
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
