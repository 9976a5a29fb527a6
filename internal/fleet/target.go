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

// TargetID names a target for ever: 26 characters of 128 random bits, lower case, that
// are safe in a subject, a path and a URL. The same host enrolled anew has another one.
type TargetID string

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NewTargetID makes one from a source of randomness, nil for the system's.
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

// ParseTargetID reads one strictly.
func ParseTargetID(s string) (TargetID, error) {
	if b, err := idEncoding.DecodeString(s); err != nil || len(b) != 16 || idEncoding.EncodeToString(b) != s {
		return "", fmt.Errorf("cannot read %.40q as the identity of a target: it is 26 characters of a-z and 2-7", s)
	}
	return TargetID(s), nil
}

// Standing is what a fleet thinks of a target.
type Standing string

// The standings of targets. The zero value is none of them and has no rights.
const (
	Pending Standing = "pending" // enrolled, and nobody has approved it yet: it may only ask
	Active  Standing = "active"
	Retired Standing = "retired" // gone on purpose: its history stays
	Revoked Standing = "revoked" // not believed any more
)

// Target is what the fleet knows of one host. Hubs write it; nothing in it comes from
// what an agent claims, but for Name, which the token bounds.
type Target struct {
	ID   TargetID `json:"id"`
	Name string   `json:"name"` // unique among those that are not retired or revoked
	// Labels come from the token and from operators, and grant access.
	Labels   map[string]string `json:"labels,omitempty"`
	Fleet    string            `json:"fleet,omitempty"`
	Standing Standing          `json:"standing"`
	// Key is the digest of the public key, sha256:hex of its PKIX form.
	Key      string   `json:"key"`
	Serials  []string `json:"serials,omitempty"` // of its certificates that are not expired, hex, newest last
	Token    string   `json:"token,omitempty"`   // the identity of the token that let it in
	Enrolled int64    `json:"enrolled"`          // seconds since 1970
	Changed  int64    `json:"changed"`           // of Standing or Labels
	By       string   `json:"by,omitempty"`      // who changed it last
	Pin      *Pin     `json:"pin,omitempty"`
	// Suspect is nil for those that are to be relied on.
	Suspect *Suspicion `json:"suspect,omitempty"`
}

// Pin keeps a target, or one module of it, on a revision of its own.
type Pin struct {
	Module string `json:"module,omitempty"` // a directory below modules/; "" is all of the target
	Ref    string `json:"ref"`              // a branch, tag or commit; the hub resolves it
	Until  int64  `json:"until,omitempty"`  // seconds since 1970; 0 has no end
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"`
	// Permit is the way back for targets that take nothing older than what they had,
	// signed; see Assigned.
	Permit string `json:"permit,omitempty"`
}

var targetName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`) })

// CheckName says what is wrong with the name of a target.
func CheckName(name string) error {
	if !targetName().MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("cannot call a target %.60q: a name has letters, digits, dots, - and _, and begins and ends with a letter or digit", name)
	}
	return nil
}

var label = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$`) })

// MaxLabels bounds how many labels a target has.
const MaxLabels = 64

// CheckLabels says what is wrong with labels. An empty value is allowed.
func CheckLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("cannot take %d labels: %d are the most", len(labels), MaxLabels)
	}
	var wrong []error
	for k, v := range labels {
		if !label().MatchString(k) || v != "" && !label().MatchString(v) {
			wrong = append(wrong, fmt.Errorf("cannot take the label %.70q=%.70q: both have up to 63 letters, digits, dots, / - and _", k, v))
		}
	}
	return errors.Join(wrong...)
}
