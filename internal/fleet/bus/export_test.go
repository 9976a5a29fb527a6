package bus

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// LeaderOf returns the hub that leads a log of a cluster.
func (s *Server) LeaderOf(ctx context.Context, log string) (string, error) {
	return s.leaderOf(ctx, "LOG_"+log)
}

// LeaderOfBucket returns the hub that leads a bucket of a cluster.
func (s *Server) LeaderOfBucket(ctx context.Context, bucket string) (string, error) {
	return s.leaderOf(ctx, "KV_"+bucket)
}

func (s *Server) leaderOf(ctx context.Context, name string) (string, error) {
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return "", err
	}
	if c := stream.CachedInfo().Cluster; c != nil && c.Leader != "" {
		return c.Leader, nil
	}
	return "", fmt.Errorf("no hub leads %s", name)
}

// StepDown lets another hub lead a log, if this hub leads it.
func (s *Server) StepDown(log string) error { return s.nats.JetStreamStepdownStream("$G", "LOG_"+log) }

// CutOwn ends the hub's own connections, as the server does with a slow reader.
func (s *Server) CutOwn() {
	for _, nc := range s.owned {
		if id, err := nc.GetClientID(); err == nil {
			_ = s.nats.DisconnectClientByID(id)
		}
	}
}

// lossy executes its requests, and loses some answers.
type lossy struct {
	jetstream.JetStream
	left *atomic.Int32
}

func (l lossy) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := l.JetStream.PublishMsg(ctx, m, opts...)
	if l.left.Add(-1) < 0 {
		return ack, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func newLossy(js jetstream.JetStream, n int) jetstream.JetStream {
	if l, is := js.(lossy); is {
		l.left.Store(int32(n))
		return l
	}
	l := lossy{js, &atomic.Int32{}}
	l.left.Store(int32(n))
	return l
}

// LoseAnswers makes a bucket lose the answers to its next n writes.
func LoseAnswers(s fleet.Store, n int) { st := s.(*store); st.js = newLossy(st.js, n) }

// LoseAnswersOfLog is LoseAnswers for a log.
func LoseAnswersOfLog(l fleet.Log, n int) { e := l.(*eventLog); e.js = newLossy(e.js, n) }
