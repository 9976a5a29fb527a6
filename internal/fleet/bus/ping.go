package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Unresponsive returns the named hubs that do not answer before ctx ends. The connection to a
// frozen hub stays open for several seconds, so an open connection proves nothing.
func (s *Server) Unresponsive(ctx context.Context, names []string) []string {
	silent := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == s.config.Name })
	if s.nats == nil || len(silent) == 0 {
		return nil
	}
	s.ping(ctx, func(from string, _ server.JSInfo) (more bool) {
		silent = slices.DeleteFunc(silent, func(n string) bool { return n == from })
		return len(silent) > 0
	})
	return silent
}

// ping sends a request to all hubs and calls each for every answer, until ctx ends or each returns
// false.
func (s *Server) ping(ctx context.Context, each func(from string, info server.JSInfo) (more bool)) {
	system, inbox := s.owned[0], nats.NewInbox()
	sub, err := system.SubscribeSync(inbox)
	if err != nil {
		return
	}
	defer func() { _ = sub.Unsubscribe() }()
	if system.PublishRequest("$SYS.REQ.SERVER.PING.JSZ", inbox, []byte("{}")) != nil {
		return
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return
		}
		var a struct {
			Server struct {
				Name string `json:"name"`
			} `json:"server"`
			Data server.JSInfo `json:"data"`
		}
		if json.Unmarshal(m.Data, &a) == nil && !each(a.Server.Name, a.Data) {
			return
		}
	}
}

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
