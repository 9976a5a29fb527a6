package bus

import (
	"crypto/subtle"

	"github.com/nats-io/nats-server/v2/server"
)

// Names of the users of connections within the process.
const (
	userHub    = "hub"
	userSystem = "system"
)

// Check implements server.Authentication. It accepts only connections of this hub from within its
// own process, with a secret that no other process has.
func (s *Server) Check(c server.ClientAuthentication) bool {
	addr, o := c.RemoteAddress(), c.GetOpts()
	if c.Kind() != server.CLIENT || addr == nil || addr.Network() != "pipe" ||
		subtle.ConstantTimeCompare([]byte(o.Password), []byte(s.secret)) != 1 {
		return false
	}
	switch o.Username {
	case userHub:
		c.RegisterUser(&server.User{Username: userHub})
	case userSystem:
		c.RegisterUser(&server.User{Username: userSystem, Account: s.nats.SystemAccount()})
	default:
		return false
	}
	return true
}

// hubsOnly accepts the routes of other hubs. Their TLS handshakes have verified their certificates.
type hubsOnly struct{}

// Check implements server.Authentication.
func (hubsOnly) Check(c server.ClientAuthentication) bool {
	return c.Kind() == server.ROUTER && c.GetTLSConnectionState() != nil
}
