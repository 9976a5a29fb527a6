package fleet

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// TargetID identifies a target permanently: 26 lower-case characters of 128 random bits. It is safe
// in a subject, a path and a URL. A host that is enrolled again has a new one.
type TargetID string

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewTargetID returns a new ID from a source of randomness; nil is the system's.
func NewTargetID(random io.Reader) (TargetID, error) {
	if random == nil {
		random = rand.Reader
	}
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("cannot make an identity: %w", err)
	}
	return TargetID(idEncoding.EncodeToString(b[:])), nil
}

// ParseTargetID parses an ID. It accepts only the canonical form.
func ParseTargetID(s string) (TargetID, error) {
	if b, err := idEncoding.DecodeString(s); err != nil || len(b) != 16 || idEncoding.EncodeToString(b) != s {
		return "", fmt.Errorf("cannot read %.40q as the identity of a target: an identity has 26 characters of a-z and 2-7",
			s)
	}
	return TargetID(s), nil
}

// Standing is the membership of a target in the fleet.
type Standing string

// The standings of targets. The zero value is invalid and has no rights.
const (
	Pending Standing = "pending" // enrolled and not approved yet: it may only send requests
	Active  Standing = "active"
	Retired Standing = "retired" // removed on purpose: its history stays
	Revoked Standing = "revoked" // no longer trusted
)

// Target is the record of one target. Hubs write it. Only Name is chosen by the agent, within the
// limits of the token.
type Target struct {
	ID   TargetID `json:"id"`
	Name string   `json:"name"` // unique among targets that are not retired or revoked
	// Labels come from the token and from operators, and grant access.
	Labels   map[string]string `json:"labels,omitempty"`
	Fleet    string            `json:"fleet,omitempty"`
	Standing Standing          `json:"standing"`
	// Organization is set by the token or by an operator of the fleet, never by the host. Moved is the time of the
	// last change of it, in ns since 1970: an organization sees nothing of a target from before.
	Organization Organization `json:"organization,omitempty"`
	Moved        int64        `json:"moved,omitempty"`
	// Key is the digest of the public key, sha256:hex of its PKIX form.
	Key      string   `json:"key"`
	Serials  []string `json:"serials,omitempty"` // of its unexpired certificates, hex, newest last
	Token    string   `json:"token,omitempty"`   // the ID of the token with which it enrolled
	Enrolled int64    `json:"enrolled"`          // seconds since 1970
	Changed  int64    `json:"changed"`           // of this entry
	By       string   `json:"by,omitempty"`      // the last user, token or hub that changed it
	Pin      *Pin     `json:"pin,omitempty"`
	// Suspect is nil for a reliable target.
	Suspect *Suspicion `json:"suspect,omitempty"`
	// Environment is the environment that an operator created, and that is in force. It is computed from the record of
	// the environment, and not stored with the target.
	Environment *Environment `json:"-"`
}

// Pin keeps a target, or one of its modules, on its own revision.
type Pin struct {
	Module string `json:"module,omitempty"` // a directory below modules/; "" is the whole target
	Ref    string `json:"ref"`              // a branch, tag or commit; the hub resolves it
	Until  int64  `json:"until,omitempty"`  // seconds since 1970; 0 has no end
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	// Permit is the signed permit for targets that refuse an older commit; see Assigned.
	Permit string `json:"permit,omitempty"`
	// Environment is the name of the environment that has this pin, or "".
	Environment string `json:"-"`
}

var targetName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`) })

// CheckName returns an error if name is not a valid name of a target.
func CheckName(name string) error {
	if !targetName().MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("cannot use %.60q as the name of a target: a name has letters, digits, dots, - and _, and begins and ends with a letter or digit", name)
	}
	return nil
}

var label = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`) })

// MaxLabels is the maximum number of labels of a target.
const MaxLabels = 64

// CheckLabels returns an error if labels are invalid. An empty value is allowed.
func CheckLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("cannot accept %d labels: the maximum is %d", len(labels), MaxLabels)
	}
	var wrong []error
	for k, v := range labels {
		if !label().MatchString(k) || v != "" && !label().MatchString(v) {
			wrong = append(wrong,
				fmt.Errorf(
					"cannot use the label %.70q=%.70q: its key and its value have up to 63 letters, digits, dots, / - and _", k, v))
		}
	}
	return errors.Join(wrong...)
}
