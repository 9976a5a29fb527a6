package signal

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits of signals.
const (
	MaxSignals = 100     // names of a fleet
	MaxSent    = 50      // of a name
	MaxPayload = 4 << 10 // bytes
	MaxSender  = 128     // bytes
	MinKeep    = time.Minute
	MaxKeep    = 30 * 24 * time.Hour
)

// Definition contains the values of a signal in the repository.
type Definition struct {
	Name    string        `json:"name"`
	Keep    time.Duration `json:"keep_ns"`
	Senders []string      `json:"senders,omitempty"` // names of the targets that can send
}

// Sent is a signal that was sent. Times are in ms since 1970.
type Sent struct {
	Sender  string `json:"sender"` // a target, or a user
	User    bool   `json:"user,omitempty"`
	Payload string `json:"payload,omitempty"`
	First   int64  `json:"first"` // time of the first one of its repetitions
	At      int64  `json:"at"`
}

// State contains all that hubs remember of one name. Decide does not modify it.
type State struct {
	Definition
	// Undeclared means that the repository no longer declares the signal.
	Undeclared bool   `json:"undeclared,omitempty"`
	Sent       []Sent `json:"sent,omitempty"` // in the order of their times
}

// Kept returns the signals that count as sent at a time, in the order of their times.
func (s State) Kept(now int64) []Sent {
	old := func(x Sent) bool { return now >= x.At+s.Keep.Milliseconds() }
	return slices.DeleteFunc(slices.Clone(s.Sent), old)
}

// Newest returns the newest signal that counts as sent, and was sent at a time or later.
func (s State) Newest(since, now int64) (Sent, bool) {
	kept := s.Kept(now)
	if len(kept) == 0 || s.Undeclared || kept[len(kept)-1].At < since {
		return Sent{}, false
	}
	return kept[len(kept)-1], true
}

var nameForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][-_A-Za-z0-9]{0,62}$`) })

// CheckName returns an error if a name is not possible for a signal.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("cannot use %.80q as the name of a signal: a name has up to 63 letters, digits, _ and -, "+
			"and begins with a letter", name)
	}
	return nil
}

// CheckPayload returns an error if a text is not possible as the payload of a signal.
func CheckPayload(text string) error {
	if len(text) > MaxPayload {
		return fmt.Errorf("cannot send a payload of %d bytes: the maximum is %d", len(text), MaxPayload)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("cannot send a payload that is not UTF-8 text")
	}
	return nil
}

// Check returns an error if the values of a definition are not possible.
func (d Definition) Check() error {
	switch err := CheckName(d.Name); {
	case err != nil:
		return err
	case d.Keep < MinKeep || d.Keep > MaxKeep:
		return fmt.Errorf("cannot keep signals for %s: the time is from 1m to 30d", d.Keep)
	}
	return nil
}

// Permits reports whether the target with this name can send.
func (d Definition) Permits(name string) bool { return slices.Contains(d.Senders, name) }
