package agentconn

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Versions are the protocol versions that one end supports, from Oldest to Newest.
type Versions struct {
	Oldest int `json:"oldest"`
	Newest int `json:"newest"`
}

// OwnVersions returns the versions of this program. Programs that do not negotiate use version 1.
// Add a new version if a frame or a document changes so that an older end cannot ignore the change;
// record the frames of the current version first.
func OwnVersions() Versions { return Versions{Oldest: 1, Newest: 2} }

// unnamed is the version of an end that does not negotiate.
const unnamed = 1

// maxVersion limits the version of the other end.
const maxVersion = 1_000_000

// protocolPrefix begins the name of a version in TLS (ALPN), as in fettle/2.
const protocolPrefix = "fettle/"

// Names returns the names of the versions for NextProtos of a tls.Config, the newest first.
func (v Versions) Names() (out []string) {
	for n := v.Newest; n >= max(v.Oldest, unnamed+1); n-- {
		out = append(out, protocolPrefix+strconv.Itoa(n))
	}
	return out
}

// Speaks returns true if v contains a version.
func (v Versions) Speaks(version int) bool { return v.Oldest <= version && version <= v.Newest }

// String is "2", or "1 to 3".
func (v Versions) String() string {
	if v.Oldest == v.Newest {
		return strconv.Itoa(v.Newest)
	}
	return fmt.Sprintf("%d to %d", v.Oldest, v.Newest)
}

func (v Versions) check() error {
	if v.Oldest < 1 || v.Newest < v.Oldest || v.Newest > maxVersion {
		return errForm
	}
	return nil
}

// version parses the name of a version in TLS; "" is unnamed.
func version(name string) (n int, ok bool) {
	if name == "" {
		return unnamed, true
	}
	digits, ok := strings.CutPrefix(name, protocolPrefix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > unnamed && n <= maxVersion && strconv.Itoa(n) == digits
}

// VersionError means that a hub and an agent have no protocol version in common.
type VersionError struct {
	Agent Versions `json:"agent"`
	Hub   Versions `json:"hub"`
}

// Error says which side must be upgraded, and how.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the agent speaks version %s of the protocol, and the hub version %s. %s", e.Agent, e.Hub,
		e.Remedy())
}

// HubIsOlder returns true if the hub must be upgraded; otherwise the agent must.
func (e *VersionError) HubIsOlder() bool { return e.Hub.Newest < e.Agent.Oldest }

// Remedy returns the instruction for the operator.
func (e *VersionError) Remedy() string {
	if e.HubIsOlder() {
		return "Upgrade the hub: install the newer package on it, and run: systemctl restart fettle-hub"
	}
	return "Upgrade the agent: install the newer package on its host, and run: systemctl restart fettle-agent"
}

// Is makes a VersionError an ErrRefused.
func (e *VersionError) Is(target error) bool { return target == ErrRefused }

// Offer returns the settings of an agent's connection: it offers its versions.
func (v Versions) Offer(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.NextProtos = v.Names()
	return c
}

// Accept returns the settings of a hub's connections: the newest version in common is
// chosen. Without a version in common the handshake is completed too: the hub reads the
// identity of the agent in the certificate, and can send the reason of the refusal.
func (v Versions) Accept(c *tls.Config) *tls.Config {
	each := c.GetConfigForClient
	c = c.Clone()
	c.NextProtos = v.Names()
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (own *tls.Config, err error) {
		if each != nil {
			if own, err = each(hello); err != nil {
				return nil, err
			}
		}
		newest := v.unknown(hello.SupportedProtos)
		if own == nil && newest == "" {
			return nil, nil // c
		}
		if own == nil {
			own = c
		}
		own = own.Clone()
		if own.NextProtos = v.Names(); newest != "" {
			own.NextProtos = []string{newest}
		}
		return own, nil
	}
	return c
}

// unknown returns the name of the newest offered version if v contains none of them. It returns ""
// if v contains one, and if no version is offered or supported.
func (v Versions) unknown(offered []string) (newest string) {
	if len(v.Names()) == 0 {
		return "" // a hub that supports no named version: the agent decides
	}
	last := 0
	for _, name := range offered {
		if slices.Contains(v.Names(), name) {
			return ""
		}
		if n, ok := version(name); ok && name != "" && n > last {
			newest, last = name, n
		}
	}
	return newest
}

// agreed returns the version of a connection at the hub. If the hub does not support the version,
// the error is a *VersionError; it contains only the newest version of the agent.
func (v Versions) agreed(s *tls.ConnectionState) (int, error) {
	n, ok := version(s.NegotiatedProtocol)
	if !ok {
		return 0, errForm
	}
	if !v.Speaks(n) {
		return 0, &VersionError{Agent: Versions{n, n}, Hub: v}
	}
	return n, nil
}

// packRefused encodes a refusal; hub is nil if the version is not the reason. Agents of all
// versions can decode it.
func packRefused(hub *Versions) []byte {
	if hub == nil {
		return appendFrame(nil, kindRefused)
	}
	b := binary.AppendUvarint(nil, uint64(hub.Oldest))
	return appendFrame(nil, kindRefused, binary.AppendUvarint(b, uint64(hub.Newest)))
}

// refused returns the error for a refusal of the hub. Additional bytes are ignored.
func (v Versions) refused(rest []byte) error {
	oldest, n := binary.Uvarint(rest)
	if len(rest) == 0 || n <= 0 || oldest > maxVersion {
		return ErrRefused
	}
	newest, m := binary.Uvarint(rest[n:])
	hub := Versions{int(oldest), int(min(newest, maxVersion+1))}
	if m <= 0 || hub.check() != nil {
		return ErrRefused
	}
	return &VersionError{Agent: v, Hub: hub}
}

// AsVersionError returns the *VersionError in the chain of an error, nil if there is none.
func AsVersionError(err error) *VersionError {
	e, _ := errors.AsType[*VersionError](err)
	return e
}
