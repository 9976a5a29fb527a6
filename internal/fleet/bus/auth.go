package bus

import (
	"crypto/subtle"

	"github.com/nats-io/nats-server/v2/server"
)

// Users of connections within the process.
const (
	userHub    = "hub"
	userSystem = "system"
)

// Check implements server.Authentication: it tells who may connect, and as what. Only this
// hub may, from within its process, and with a secret that nobody else has.
func (s *Server) Check(c server.ClientAuthentication) bool {
	addr, o := c.RemoteAddress(), c.GetOpts()
	if c.Kind() != server.CLIENT || addr == nil || addr.Network() != "pipe" || subtle.ConstantTimeCompare([]byte(o.Password), []byte(s.secret)) != 1 {
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

// hubsOnly lets in the routes of other hubs: their handshakes have asked who they are.
type hubsOnly struct{}

// Check implements server.Authentication.
func (hubsOnly) Check(c server.ClientAuthentication) bool {
	return c.Kind() == server.ROUTER && c.GetTLSConnectionState() != nil
}
