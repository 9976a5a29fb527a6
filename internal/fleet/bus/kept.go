package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fettle.dev/fettle/internal/fleet"
)

// store opens a bucket on the NATS cluster, and creates it if it does not exist.
func (a *externalNats) store(ctx context.Context, name string) (fleet.Store, error) {
	st := &store{name: name, js: a.js, external: a, renewed: &a.renewed}
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

// log opens a log on the NATS cluster, and creates it if it does not exist.
func (a *externalNats) log(ctx context.Context, c LogConfig) (fleet.Log, error) {
	l := &eventLog{js: a.js, name: c.Name, at: a.conf.Prefix + ".log." + c.Name, external: a, renewed: &a.renewed}
	err := a.persist(ctx, func(ctx context.Context) (err error) {
		l.stream, err = a.openLog(ctx, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// heartbeat is the interval at which the server of a followed log shows that it is alive. The hub
// detects a dead server after two intervals; without a heartbeat it takes half a minute.
const heartbeat = 2 * time.Second

// close seals a value for its key.
func (s *store) close(key string, value []byte) []byte {
	return s.external.sealer().close(s.name+" "+key, value)
}

func (s *store) open(key string, value []byte) ([]byte, error) {
	return s.external.sealer().open(s.name+" "+key, value)
}

// entry decodes an entry of a bucket. An entry that was not written by a hub is reported with a
// warning and otherwise ignored.
func (s *store) entry(e jetstream.KeyValueEntry) (fleet.Entry, bool) {
	out := entryOf(e)
	if out.Gone {
		return out, true
	}
	value, err := s.open(out.Key, out.Value)
	if err != nil {
		s.external.warn(fmt.Sprintf("ignored the key %s of the bucket %s: %v", out.Key, s.name, err))
		return out, false
	}
	out.Value = value
	return out, true
}
