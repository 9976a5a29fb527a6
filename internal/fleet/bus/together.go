package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// The headers of an atomic batch (ADR-50 of NATS). All messages have the ID of the batch and a
// number from 1; the last message commits the batch.
const (
	batchHeader  = "Nats-Batch-Id"
	placeHeader  = "Nats-Batch-Sequence"
	commitHeader = "Nats-Batch-Commit"
	expectHeader = "Nats-Expected-Last-Subject-Sequence"
)

var _ fleet.Batcher = (*store)(nil)

// UpdateAll implements fleet.Batcher. The server flushes its disk once for all entries.
func (s *store) UpdateAll(ctx context.Context, all []fleet.Entry) ([]uint64, error) {
	switch {
	case s.together == nil:
		return nil, fmt.Errorf("cannot write several keys of %s at once: %w", s.name, errors.ErrUnsupported)
	case len(all) == 0:
		return nil, nil
	case len(all) > fleet.MaxUpdateAll:
		return nil, fmt.Errorf("cannot write %d keys of %s at once: the maximum is %d", len(all), s.name, fleet.MaxUpdateAll)
	}
	for _, e := range all {
		if err := CheckEntry(e.Key, e.Value); err != nil {
			return nil, err
		}
	}
	last, err := s.publishAll(ctx, all)
	if err != nil {
		return nil, s.explain("write", fmt.Sprintf("%d keys", len(all)), err)
	}
	newer := make([]uint64, len(all))
	for i := range newer { // revisions are consecutive
		newer[i] = last - uint64(len(all)-1-i)
	}
	return newer, nil
}

// publishAll publishes a batch. If no answer arrives, it reads the last key: a written message has
// the ID of its batch. A batch cannot be sent again, since the server would not recognise it as a
// duplicate.
func (s *store) publishAll(ctx context.Context, all []fleet.Entry) (rev uint64, err error) {
	id := newToken()
	silence := silenceOf(ctx)
	left := silence.left()
	once, stop := context.WithTimeout(ctx, max(left-storeTry, left/2)) // the remaining time is for the read below
	defer stop()
	asked, done := asking(once, s.cut)
	began := time.Now()
	rev, err = s.publish(asked, id, all)
	if err = done(err); conflicts(err) || !unanswered(err) || ctx.Err() != nil {
		return rev, err
	}
	silence.add(time.Since(began))
	unread := insist(ctx, s.cut, func(ctx context.Context) error {
		m, err := s.stream.GetLastMsgForSubject(ctx, s.subject(all[len(all)-1].Key))
		if err == nil && m.Header.Get(batchHeader) == id {
			rev = m.Sequence
		}
		return err
	})
	if unread == nil && rev > 0 {
		return rev, nil
	}
	return 0, fmt.Errorf("%w: %w", fleet.ErrNoAnswer, err)
}

// publish sends entries as one batch, and returns the revision of the last one. Only the last
// message is answered. The server refuses it if an earlier message is missing.
func (s *store) publish(ctx context.Context, id string, all []fleet.Entry) (last uint64, err error) {
	for i, e := range all {
		m := &nats.Msg{Subject: "$KV." + s.name + "." + e.Key, Data: e.Value, Header: nats.Header{
			batchHeader: {id}, placeHeader: {strconv.Itoa(i + 1)}, expectHeader: {strconv.FormatUint(e.Rev, 10)},
		}}
		if i < len(all)-1 {
			if err := s.together.PublishMsg(m); err != nil {
				return 0, err
			}
			continue
		}
		m.Header[commitHeader] = []string{"1"}
		answer, err := s.together.RequestMsgWithContext(ctx, m)
		if err != nil {
			return 0, err
		}
		return sequenceOf(answer.Data, len(all))
	}
	return 0, nil
}

// sequenceOf decodes the answer to the last message of a batch.
func sequenceOf(body []byte, count int) (uint64, error) {
	var ack struct {
		Sequence uint64              `json:"seq"`
		Count    int                 `json:"count"`
		Error    *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(body, &ack); err != nil {
		return 0, fmt.Errorf("cannot read the answer: %w", err)
	}
	switch {
	case ack.Error != nil:
		return 0, ack.Error
	case ack.Count != count || ack.Sequence < uint64(count):
		return 0, fmt.Errorf("cannot write all keys: the server reports %d of %d", ack.Count, count)
	}
	return ack.Sequence, nil
}
