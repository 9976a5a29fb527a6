package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// store opens a bucket abroad. What it has to say of the place comes with the error.
func (a *abroad) store(ctx context.Context, name string) (fleet.Store, error) {
	st := &store{name: name, js: a.js, abroad: a, anew: &a.anew}
	err := a.persist(ctx, func(ctx context.Context) (err error) {
		if st.kv, err = a.openBucket(ctx, name); err != nil {
			return err
		}
		st.stream, err = a.js.Stream(ctx, "KV_"+a.conf.bucket(name))
		return err
	})
	if err != nil {
		return nil, err
	}
	askLeader(st.stream)
	return st, nil
}

// log opens a log abroad.
func (a *abroad) log(ctx context.Context, c LogConfig) (fleet.Log, error) {
	l := &eventLog{js: a.js, name: c.Name, at: a.conf.Prefix + ".log." + c.Name, abroad: a, anew: &a.anew}
	err := a.persist(ctx, func(ctx context.Context) (err error) {
		l.stream, err = a.openLog(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// heartbeat is how often a log abroad shows that it is followed: a server that followed it may
// be gone, and is missed after two of them, in place of half a minute.
const heartbeat = 2 * time.Second

// close seals a value for its key.
func (s *store) close(key string, value []byte) []byte {
	return s.abroad.sealer().close(s.name+" "+key, value)
}

func (s *store) open(key string, value []byte) ([]byte, error) {
	return s.abroad.sealer().open(s.name+" "+key, value)
}

// entry is what a bucket has. What no hub wrote is told of and left out, as if it had not
// come.
func (s *store) entry(e jetstream.KeyValueEntry) (fleet.Entry, bool) {
	out := entryOf(e)
	if out.Gone {
		return out, true
	}
	value, err := s.open(out.Key, out.Value)
	if err != nil {
		s.abroad.warn(fmt.Sprintf("cannot believe %s of %s: %v", out.Key, s.name, err))
		return out, false
	}
	out.Value = value
	return out, true
}
