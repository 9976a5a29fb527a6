package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// LogConfig configures a log.
type LogConfig struct {
	Name string // letters, digits, - and _
	// The oldest messages are removed when they are older than MaxAge, or when the stored size
	// exceeds MaxBytes; 0 means 400 days, and 4 GiB.
	MaxAge   time.Duration
	MaxBytes int64
}

// CorruptError means that a message of a log is damaged. To continue after it, call Follow with
// Seq.
type CorruptError struct {
	Seq uint64
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("message %d of the log is damaged: %v", e.Seq, e.Err)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// eventLog is a stream of JetStream. One message holds the records of one Append.
type eventLog struct {
	js       jetstream.JetStream
	stream   jetstream.Stream
	name     string
	at       string        // its subject
	external *externalNats // nil if the hub stores the log itself
	renewed  *renewals
	cut      *renewals // as for a store

	batches batches
}

var _ fleet.Log = (*eventLog)(nil)

// Log opens a log, and creates it if it does not exist.
func (s *Server) Log(ctx context.Context, c LogConfig) (fleet.Log, error) {
	if s.external != nil {
		return s.external.log(ctx, c)
	}
	var stream jetstream.Stream
	err := s.persist(ctx, func(ctx context.Context) (err error) {
		stream, err = s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: "LOG_" + c.Name, Subjects: []string{"log." + c.Name}, Storage: jetstream.FileStorage,
			Replicas: s.replicasOf(ctx, "LOG_"+c.Name),
			MaxAge:   orElse(c.MaxAge, 400*24*time.Hour), MaxBytes: orElse(c.MaxBytes, 4<<30), Discard: jetstream.DiscardOld,
			MaxMsgSize: MaxBatch + 64<<10, DenyDelete: true, AllowDirect: true,
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the log %s: %w", c.Name, err)
	}
	return &eventLog{js: s.js, stream: stream, name: c.Name, at: "log." + c.Name, renewed: &s.renewed, cut: &s.renewed},
		nil
}

// Append implements fleet.Log. After an error the records may have been appended. Readers must
// therefore accept duplicate records.
func (l *eventLog) Append(ctx context.Context, records [][]byte) (uint64, error) {
	b, err := l.batches.pack(records)
	if err != nil {
		return 0, err
	}
	// All attempts send the same message ID, so that the server stores the message once.
	m := &nats.Msg{Subject: l.at, Header: nats.Header{idHeader: {newToken() + newToken()}},
		Data: l.external.sealer().close("log "+l.name, b)}
	var seq uint64
	err = insist(ctx, l.cut, func(ctx context.Context) error {
		ack, err := l.js.PublishMsg(ctx, m)
		if err == nil {
			seq = ack.Sequence
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot append to the log %s: %w", l.name, l.external.plainly(err))
	}
	return seq, nil
}

// End returns the number of the last message, 0 without messages. It changes nothing.
func (l *eventLog) End(ctx context.Context) (uint64, error) {
	s, err := l.js.Stream(ctx, l.stream.CachedInfo().Config.Name)
	if err != nil {
		return 0, fmt.Errorf("cannot read the end of the log %s: %w", l.name, l.external.plainly(err))
	}
	return s.CachedInfo().State.LastSeq, nil
}

// Follow implements fleet.Log. It returns the error of ctx or of each, and a CorruptError for a
// damaged message.
func (l *eventLog) Follow(ctx context.Context, from uint64, each func(seq uint64, records [][]byte) error) error {
	for {
		once, stop := l.renewed.within(ctx)
		err := l.follow(ctx, once, &from, each)
		stop()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rewatchTime):
		}
	}
}

// follow returns nil if the connection was lost, or if once ended before ctx. The caller then tries
// again.
func (l *eventLog) follow(ctx, once context.Context, from *uint64, each func(uint64, [][]byte) error) error {
	c, err := l.stream.OrderedConsumer(once,
		jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: *from + 1})
	if err != nil {
		return ctx.Err()
	}
	how := []jetstream.PullMessagesOpt{jetstream.PullMaxMessages(256)}
	if l.external != nil {
		how = append(how, jetstream.PullHeartbeat(heartbeat))
	}
	messages, err := c.Messages(how...)
	if err != nil {
		return ctx.Err()
	}
	defer messages.Stop()
	defer context.AfterFunc(once, messages.Stop)()
	for {
		m, err := messages.Next()
		if err != nil {
			return ctx.Err()
		}
		if err := l.give(m, from, each); err != nil {
			return err
		}
	}
}

func (l *eventLog) give(m jetstream.Msg, from *uint64, each func(uint64, [][]byte) error) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("cannot read the log %s: %w", l.name, err)
	}
	seq := meta.Sequence.Stream
	if seq <= *from {
		return nil
	}
	b, err := l.external.sealer().open("log "+l.name, m.Data())
	var records [][]byte
	if err == nil {
		records, err = l.batches.open(b)
	}
	if err != nil {
		return &CorruptError{Seq: seq, Err: err}
	}
	if err := each(seq, records); err != nil {
		return err
	}
	*from = seq
	return nil
}
