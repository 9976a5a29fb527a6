package bus

import (
	"context"
	"fmt"
)

// LeaderOf is the hub that leads a log of a cluster.
func (s *Server) LeaderOf(ctx context.Context, log string) (string, error) {
	stream, err := s.js.Stream(ctx, "LOG_"+log)
	if err != nil {
		return "", err
	}
	if c := stream.CachedInfo().Cluster; c != nil && c.Leader != "" {
		return c.Leader, nil
	}
	return "", fmt.Errorf("nobody leads the log %s", log)
}

// StepDown lets another hub lead a log, if this one does.
func (s *Server) StepDown(log string) error { return s.nats.JetStreamStepdownStream("$G", "LOG_"+log) }

// CutOwn ends the hub's own connections, as the server does with one that is behind.
func (s *Server) CutOwn() {
	for _, nc := range s.owned {
		if id, err := nc.GetClientID(); err == nil {
			_ = s.nats.DisconnectClientByID(id)
		}
	}
}
