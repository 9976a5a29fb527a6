package bus

import (
	"crypto/subtle"
	"errors"

	"github.com/nats-io/nats-server/v2/server"

	"fettle.dev/fettle/internal/fleet"
)

// Users of connections within the process.
const (
	userHub    = "hub"
	userSystem = "system"
)

// ErrNotYet is in the chain of an error of Config.Identify about a hub that cannot tell yet who
// may come in. Whoever comes is sent away without a word: the hub says it once for all.
var ErrNotYet = errors.New("this hub has only begun")

// Check implements server.Authentication: it tells who may connect, and as what. The
// secret is this process's, and is taken only from within it.
func (s *Server) Check(c server.ClientAuthentication) bool {
	if c.Kind() != server.CLIENT {
		return false
	}
	state := c.GetTLSConnectionState()
	if state == nil {
		return s.checkLocal(c)
	}
	if s.config.Identify == nil {
		return false
	}
	id, err := s.config.Identify(state)
	if errors.Is(err, ErrNotYet) {
		return false
	}
	if err != nil {
		s.warn("refused a connection: " + err.Error())
		return false
	}
	return s.admit(c, id)
}

func (s *Server) checkLocal(c server.ClientAuthentication) bool {
	addr, o := c.RemoteAddress(), c.GetOpts()
	if addr == nil || addr.Network() != "pipe" || subtle.ConstantTimeCompare([]byte(o.Password), []byte(s.secret)) != 1 {
		return false
	}
	switch o.Username {
	case userHub:
		c.RegisterUser(&server.User{Username: userHub})
	case userSystem:
		c.RegisterUser(&server.User{Username: userSystem, Account: s.nats.SystemAccount()})
	default:
		return s.admit(c, fleet.TargetID(o.Username))
	}
	return true
}

// admit gives a target what is its own: lists of what is allowed and nothing else, since
// a queue group can walk around what is only denied. Before the hub hears it has to come
// again.
func (s *Server) admit(c server.ClientAuthentication, id fleet.TargetID) bool {
	x := s.exchange.Load()
	if _, err := fleet.ParseTargetID(string(id)); err != nil || x == nil {
		return false
	}
	c.RegisterUser(&server.User{Username: string(id), Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{upOf(id, ">")}},
		Subscribe: &server.SubjectPermission{Allow: []string{downOf(id, ">")}},
	}})
	x.Admit(id, c.GetID())
	return true
}

// hubsOnly lets in the routes of other hubs: their handshakes have asked who they are.
type hubsOnly struct{}

// Check implements server.Authentication.
func (hubsOnly) Check(c server.ClientAuthentication) bool {
	return c.Kind() == server.ROUTER && c.GetTLSConnectionState() != nil
}
