package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// MaxValue is the maximum size of a value of a store, in bytes.
const MaxValue = 1 << 20

// headRoom is the maximum size of the headers of a message, in bytes.
const headRoom = 1 << 10

// markerTime is how long the store records that a key was deleted. Watchers receive a deletion at
// once; the record is for watchers whose connection was lost.
const markerTime = time.Hour

var keyForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[-/_=A-Za-z0-9]+(\.[-/_=A-Za-z0-9]+)*$`) })

// CheckEntry returns an error if a key or a value is not allowed in a store.
func CheckEntry(key string, value []byte) error {
	if len(key) > 512 || !keyForm().MatchString(key) {
		return fmt.Errorf(
			"cannot use the key %.80q: a key has up to 512 letters, digits and - _ / =, with single dots between them", key)
	}
	if len(value) > MaxValue {
		return fmt.Errorf("cannot store %d bytes under the key %s: the maximum is %d", len(value), key, MaxValue)
	}
	return nil
}

// store is a bucket of JetStream with a history of one.
type store struct {
	kv   jetstream.KeyValue
	name string
	js   jetstream.JetStream
	// stream is the bucket. In a cluster, reads are answered by its leader.
	stream   jetstream.Stream
	external *externalNats // nil if the hub stores the bucket itself
	// renewed is of the connection that watches use. cut is the same if the connection loses unsent
	// messages when it breaks, and otherwise nil.
	renewed, cut *renewals
	// together writes several messages as one; nil if the server cannot.
	together *nats.Conn
}

var (
	_ fleet.Store  = (*store)(nil)
	_ fleet.Prover = (*store)(nil)
)

// Store opens a bucket, and creates it if it does not exist. Its name has letters, digits, - and _.
func (s *Server) Store(ctx context.Context, name string) (fleet.Store, error) {
	if s.external != nil {
		return s.external.store(ctx, name)
	}
	var kv jetstream.KeyValue
	err := s.persist(ctx, func(ctx context.Context) (err error) {
		if _, err = s.js.CreateOrUpdateStream(ctx, bucketConfig(name, s.replicasOf(ctx, "KV_"+name))); err == nil {
			kv, err = s.js.KeyValue(ctx, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the bucket %s: %w", name, err)
	}
	st := &store{kv: kv, js: s.js, name: name, together: s.js.Conn(), renewed: &s.renewed, cut: &s.renewed}
	err = s.persist(ctx, func(ctx context.Context) (err error) {
		st.stream, err = s.js.Stream(ctx, "KV_"+name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot open the bucket %s: %w", name, err)
	}
	if s.config.Cluster != nil {
		askLeader(st.stream)
	}
	return st, nil
}

// askLeader makes the library read from the leader. Other replicas may not have the newest write of
// this hub.
func askLeader(bucket jetstream.Stream) { bucket.CachedInfo().Config.AllowDirect = false }

// bucketConfig is the stream that the NATS library creates for a bucket with a history of one. It
// also permits atomic batches, for which the library has no option.
func bucketConfig(name string, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + name, Subjects: []string{"$KV." + name + ".>"}, Storage: jetstream.FileStorage, Replicas: replicas,
		MaxMsgsPerSubject: 1, MaxMsgSize: MaxValue + headRoom, MaxBytes: -1, MaxMsgs: -1, MaxConsumers: -1,
		Duplicates:  2 * time.Minute,
		AllowRollup: true, DenyDelete: true, AllowDirect: true, Discard: jetstream.DiscardNew,
		AllowMsgTTL: true, SubjectDeleteMarkerTTL: markerTime, AllowAtomicPublish: true,
	}
}

// explain converts errors of JetStream to the errors of package fleet.
func (s *store) explain(what, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrKeyDeleted):
		err = fleet.ErrNotFound
	case conflicts(err):
		err = fleet.ErrConflict
	default:
		err = s.external.plainly(err)
	}
	return fmt.Errorf("cannot %s %s of %s: %w", what, key, s.name, err)
}

// conflicts returns true if a key was not at the expected revision, or has another unfinished
// write. If the call already waited for that write, the error is fleet.ErrNoAnswer instead.
func conflicts(err error) bool {
	if errors.Is(err, fleet.ErrNoAnswer) {
		return false
	}
	if e := (*jetstream.APIError)(nil); errors.As(err, &e) {
		return e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || e.ErrorCode == anotherWrite
	}
	return errors.Is(err, jetstream.ErrKeyExists)
}

func (s *store) Get(ctx context.Context, key string) (e fleet.Entry, err error) {
	if err := CheckEntry(key, nil); err != nil {
		return fleet.Entry{}, err
	}
	err = insist(ctx, s.cut, func(ctx context.Context) (err error) {
		e, err = s.get(ctx, key)
		return err
	})
	return e, s.explain("read", key, err)
}

// get reads the newest value of a key, of any hub.
func (s *store) get(ctx context.Context, key string) (fleet.Entry, error) {
	m, err := s.stream.GetLastMsgForSubject(ctx, s.subject(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && isGone(m) {
		err = jetstream.ErrKeyNotFound
	}
	if err != nil {
		return fleet.Entry{}, err
	}
	value, err := s.open(key, m.Data)
	return fleet.Entry{Key: key, Rev: m.Sequence, Value: value}, err
}

func (s *store) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := CheckEntry(key, value); err != nil {
		return 0, err
	}
	rev, err := s.write(ctx, key, s.close(key, value), nats.Header{})
	return rev, s.explain("write", key, err)
}

func (s *store) Update(ctx context.Context, key string, value []byte, rev uint64) (newer uint64, err error) {
	if err := CheckEntry(key, value); err != nil {
		return 0, err
	}
	value = s.close(key, value)
	newer, err = s.write(ctx, key, value, at(rev))
	if rev == 0 && conflicts(err) { // the key may have been deleted
		var is last
		unread := insist(ctx, s.cut, func(ctx context.Context) (err error) {
			is, err = s.last(ctx, key)
			return err
		})
		if unread == nil && is.gone {
			newer, err = s.write(ctx, key, value, at(is.rev))
		}
	}
	return newer, s.explain("write", key, err)
}

// at returns the header of a message that the server accepts only if the key has this revision.
func at(rev uint64) nats.Header {
	return nats.Header{expectHeader: {strconv.FormatUint(rev, 10)}}
}

func (s *store) Delete(ctx context.Context, key string, rev uint64) error {
	if err := CheckEntry(key, nil); err != nil {
		return err
	}
	header := nats.Header{}
	if rev != 0 {
		header = at(rev)
	}
	_, err := s.write(ctx, key, nil, deletion(header))
	return s.explain("delete", key, err)
}

// deletion returns the header of a message that deletes a key.
func deletion(header nats.Header) nats.Header {
	header.Set(changeHeader, "PURGE")
	header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	header.Set(jetstream.MsgTTLHeader, markerTime.String())
	return header
}

// Absent implements fleet.Prover. Only the leader of a majority accepts the deletion: a server that
// was replaced as the leader answers reads for some seconds more, but it cannot finish a write.
func (s *store) Absent(ctx context.Context, key string) error {
	if err := CheckEntry(key, nil); err != nil {
		return err
	}
	var is last
	err := insist(ctx, s.cut, func(ctx context.Context) (err error) {
		is, err = s.last(ctx, key)
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		is, err = last{gone: true}, nil
	}
	if err == nil && !is.gone {
		return fmt.Errorf("cannot prove that %s of %s does not exist: %w", key, s.name, fleet.ErrConflict)
	}
	if err == nil {
		_, err = s.write(ctx, key, nil, deletion(at(is.rev)))
	}
	return s.explain("prove the absence of", key, err)
}

func (s *store) All(ctx context.Context) ([]fleet.Entry, error) {
	ctx, done := asking(ctx, s.cut)
	silence := silenceOf(ctx)
	left := silence.left()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(left, func() { silence.add(left); cancel(context.DeadlineExceeded) })
	defer idle.Stop()
	out, err := s.all(ctx, func() { idle.Reset(left) })
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = context.DeadlineExceeded
	}
	if err = done(err); err != nil && unanswered(err) {
		err = noAnswer{err}
	}
	return out, s.explain("read", "all", err)
}

// all returns the entries in the order of their revisions, as a Watch reports them until it is ready: it waits for a
// replica that lacks the newest writes of the bucket. It calls answered for each entry and deletion.
func (s *store) all(ctx context.Context, answered func()) ([]fleet.Entry, error) {
	newest, err := s.newest(ctx)
	if err != nil {
		return nil, err
	}
	answered()
	updates, err := s.kv.WatchAll(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = updates.Stop() }() // the connection may have ended, and the watch with it
	ready, stop := context.WithCancel(ctx)
	defer stop()
	out := map[string]fleet.Entry{}
	w := &watching{entry: s.entry, known: map[string]uint64{}, newest: s.newest, ready: stop, answered: answered,
		each: func(e fleet.Entry) {
			if out[e.Key] = e; e.Gone {
				delete(out, e.Key)
			}
		}}
	w.follow(ready, updates.Updates(), newest)
	switch {
	case w.ready == nil:
		return slices.SortedFunc(maps.Values(out), func(a, b fleet.Entry) int { return cmp.Compare(a.Rev, b.Rev) }), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, ErrLost
}

func entryOf(e jetstream.KeyValueEntry) fleet.Entry {
	out := fleet.Entry{Key: e.Key(), Rev: e.Revision(), Value: e.Value()}
	if op := e.Operation(); op == jetstream.KeyValueDelete || op == jetstream.KeyValuePurge {
		out.Gone, out.Value = true, nil
	}
	return out
}
