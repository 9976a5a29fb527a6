package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream error codes about limits of a cluster or an account.
const (
	errAccountRoom   = 10002 // of the account
	errNoPeers       = 10005
	errNoCluster     = 10010
	errServerRoom    = 10023
	errConsumers     = 10026
	errStreams       = 10027
	errMemory        = 10028
	errStorage       = 10047
	errSingleServer  = 10074
	errNoLimits      = 10120
	errLargestStream = 10122
	errOldServer     = 10185
)

// leastPayload is the minimum of max_payload on the cluster, in bytes.
const leastPayload = MaxBody + 64<<10

// ready waits until JetStream answers, and checks that it offers enough. A cluster that is starting
// does not answer yet; a cluster without JetStream never answers.
func (a *externalNats) ready(ctx context.Context) error {
	if most := a.nc.MaxPayload(); most < leastPayload {
		return fmt.Errorf("cannot use the NATS cluster: it accepts messages of at most %d bytes, and fettle sends up to %d. Set max_payload: 4MB on its servers", most, leastPayload)
	}
	said := ""
	for begun := time.Now(); ; {
		once, stop := context.WithTimeout(ctx, 3*time.Second)
		_, err := a.js.AccountInfo(once)
		stop()
		switch {
		case err == nil:
			return a.claim(ctx)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, jetstream.ErrJetStreamNotEnabled) &&
			time.Since(begun) > 10*time.Second, a.refusal() != "":
			return a.because("cannot use the NATS cluster", err)
		}
		if text := err.Error(); text != said {
			said = text
			a.warn("the JetStream of the NATS cluster does not answer. This hub waits for it, and agents continue with their assignments: " + text)
		}
		pause(ctx, 200*time.Millisecond)
	}
}

func (a *externalNats) refusal() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.denied
}

// because adds to an error how to give the cluster what it lacks.
func (a *externalNats) because(what string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	var api *jetstream.APIError
	switch denied := a.refusal(); {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		hint = "its account has no JetStream: set jetstream: enabled for the account, and its limits"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		hint = "its servers have no JetStream: set jetstream { store_dir: … }"
	case denied != "" && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)):
		hint = "the account or user lacks rights (" + denied + "): give fettle all subjects of an account of its own"
	case errors.As(err, &api):
		hint = offer(api.ErrorCode)
	}
	switch {
	case hint == "" && what == refuses:
		return err
	case hint == "":
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %s: %w", what, hint, err)
}

// refuses begins the text of errors after the start.
const refuses = "the NATS cluster refuses"

func offer(code jetstream.ErrorCode) string {
	switch code {
	case errSingleServer:
		return "it is a single server: give --nats-replicas 1"
	case errNoPeers, errNoCluster:
		return "it has too few servers with JetStream and free space for the replicas: start more servers, or give --nats-replicas 1"
	case errStreams, errConsumers:
		return "the account has reached its limit of streams or consumers. A fleet needs 13 streams"
	case errAccountRoom, errServerRoom, errMemory, errStorage, errLargestStream, errNoLimits:
		return "the cluster or the account has no room left: give it more storage"
	case errOldServer:
		return "its servers are too old: NATS 2.11 or later is required"
	}
	return ""
}

// isFinal returns true for errors of the cluster that retries do not resolve.
func (a *externalNats) isFinal(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode != errNoPeers && api.ErrorCode != errServerRoom && offer(api.ErrorCode) != ""
	}
	return a.refusal() != "" || errors.Is(err, errUnsealed) || errors.Is(err, errChanged)
}

// errChanged means that a bucket does not have the settings that hubs give it.
var errChanged = errors.New("its settings differ from the settings of fettle, and it could lose data")

// The bucket and key that identify the fleet to which a prefix belongs.
const (
	metaBucket = "meta"
	metaKey    = "fleet"
)

// claim checks that the data under the prefix belongs to this fleet, and claims an unused prefix.
// Two fleets with the same prefix would treat each other's data as damaged.
func (a *externalNats) claim(ctx context.Context) error {
	var kv jetstream.KeyValue
	err := a.persist(ctx, func(ctx context.Context) (err error) {
		kv, err = a.openBucket(ctx, metaBucket)
		return err
	})
	if err != nil {
		return err
	}
	place := metaBucket + " " + metaKey
	return a.persist(ctx, func(ctx context.Context) error {
		_, err := kv.Create(ctx, metaKey, a.seal.close(place, []byte(a.conf.Prefix)))
		if err == nil || !conflicts(err) {
			return err
		}
		was, err := kv.Get(ctx, metaKey)
		if err != nil {
			return err
		}
		if _, err := a.seal.open(place, was.Value()); err != nil {
			return fmt.Errorf("cannot use the NATS cluster: the buckets with the prefix %s belong to another fleet of that name, or the key in this hub's directory is a different one. Give this fleet an account of its own, or remove those buckets: %w", a.conf.Prefix, err)
		}
		return nil
	})
}

// persist repeats do while the cluster refuses temporarily.
func (a *externalNats) persist(ctx context.Context, do func(context.Context) error) error {
	return persist(ctx, do, a.isFinal)
}

// openBucket opens an existing bucket unchanged, or creates it.
func (a *externalNats) openBucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	full := a.conf.bucket(name)
	what := "cannot open the bucket " + full + " of the NATS cluster"
	kv, err := a.js.KeyValue(ctx, full)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = a.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: full, Description: "fettle: sealed by its hubs", History: 1, Storage: jetstream.FileStorage,
			Replicas:     orElse(a.conf.Replicas, mostCopies),
			MaxValueSize: MaxValue + sealRoom + headRoom, LimitMarkerTTL: markerTime,
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // another hub created it first
			kv, err = a.js.KeyValue(ctx, full)
		}
	}
	if err != nil {
		return nil, a.because(what, err)
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, a.because(what, err)
	}
	if status.History() != 1 || status.LimitMarkerTTL() == 0 || status.TTL() != 0 {
		return nil, fmt.Errorf("%s: %w: its history is %d, its TTL %s and its marker TTL %s, instead of 1, 0s and %s", what,
			errChanged, status.History(), status.TTL(), status.LimitMarkerTTL(), markerTime)
	}
	a.note("KV_" + full)
	return kv, nil
}

func (a *externalNats) note(stream string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.opened, stream) {
		a.opened = append(a.opened, stream)
	}
}

// leastLog is the minimum size of a log, in bytes.
const leastLog = 64 << 20

// openLog opens a log. If it does not exist, openLog creates it as large as the cluster permits.
func (a *externalNats) openLog(ctx context.Context, c LogConfig) (jetstream.Stream, error) {
	full := "LOG_" + a.conf.bucket(c.Name)
	what := "cannot open the log " + full + " of the NATS cluster"
	conf := jetstream.StreamConfig{
		Name: full, Subjects: []string{a.conf.Prefix + ".log." + c.Name}, Description: "fettle: sealed by its hubs",
		Storage: jetstream.FileStorage, Replicas: orElse(a.conf.Replicas, mostCopies),
		MaxAge: orElse(c.MaxAge, 400*24*time.Hour), MaxBytes: orElse(c.MaxBytes, 4<<30), Discard: jetstream.DiscardOld,
		MaxMsgSize: MaxBatch + 64<<10, DenyDelete: true, AllowDirect: true,
	}
	stream, err := a.js.Stream(ctx, full)
	if err == nil {
		had := stream.CachedInfo().Config
		if had.MaxAge != conf.MaxAge {
			had.MaxAge = conf.MaxAge
			stream, err = a.js.UpdateStream(ctx, had)
		}
	} else if errors.Is(err, jetstream.ErrStreamNotFound) {
		for want := conf.MaxBytes; ; conf.MaxBytes /= 2 {
			stream, err = a.js.CreateStream(ctx, conf)
			if !isFull(err) || conf.MaxBytes/2 < leastLog {
				break
			}
			a.warn(fmt.Sprintf("the NATS cluster has no room for a log of %d MiB: trying %d MiB", want>>20, conf.MaxBytes>>21))
		}
	}
	if err != nil {
		return nil, a.because(what, err)
	}
	a.note(full)
	return stream, nil
}

func isFull(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case errStorage, errAccountRoom, errLargestStream, errServerRoom, errNoPeers:
		return true
	}
	return false
}

// copies returns the replicas of all opened buckets and logs.
func (a *externalNats) copies(ctx context.Context) ([]CopySet, error) {
	a.mu.Lock()
	opened := slices.Clone(a.opened)
	a.mu.Unlock()
	var out []CopySet
	for _, name := range opened {
		s, err := a.js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("cannot list the copies of the buckets and logs: %w", err)
		}
		out = append(out, copiesOf(s.CachedInfo()))
	}
	return out, nil
}
