package bus

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
)

// unhealthy returns the error of the health check of the server. A part of the check may only take one millisecond,
// which is too short on a busy machine. Therefore an error counts only if it is repeated.
func (s *Server) unhealthy() (why string) {
	for range 3 {
		h := s.nats.Healthz(&server.HealthzOptions{JSEnabledOnly: s.config.Cluster == nil})
		if h.Status == "ok" {
			return ""
		}
		why = h.Error
	}
	return why
}

// Healthy returns an error if the store of the bus does not work.
func (s *Server) Healthy() error {
	if s.external != nil {
		return s.external.healthy()
	}
	if why := s.unhealthy(); why != "" {
		return fmt.Errorf("the bus does not work: %s", why)
	}
	// The server elects itself repeatedly, and reports that it is healthy in between.
	if s.config.Cluster != nil && len(s.connectedHubs()) <= s.Voters()/2 {
		return errors.New("the bus does not work: most hubs cannot be reached")
	}
	return nil
}
