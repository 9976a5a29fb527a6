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

// Numbers of errors of JetStream that say what a cluster or an account does not offer.
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

// leastPayload is what the cluster has to take as one message.
const leastPayload = MaxQuestion + 64<<10

// ready waits until JetStream answers, and looks whether it offers what is needed. A cluster
// that has only begun has nobody who answers yet, as one without JetStream has for ever.
func (a *abroad) ready(ctx context.Context) error {
	if most := a.nc.MaxPayload(); most < leastPayload {
		return fmt.Errorf("cannot use the NATS cluster: it takes messages of %d bytes at most, and fettle sends up to %d. Set max_payload: 4MB on its servers", most, leastPayload)
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
		case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, jetstream.ErrJetStreamNotEnabled) && time.Since(begun) > 10*time.Second, a.refusal() != "":
			return a.because("cannot use the NATS cluster", err)
		}
		if text := err.Error(); text != said {
			said = text
			a.warn("the JetStream of the NATS cluster does not answer, and this hub waits for it; agents go on with what they have: " + text)
		}
		pause(ctx, 200*time.Millisecond)
	}
}

func (a *abroad) refusal() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.denied
}

// because says what to do about what the cluster does not offer.
func (a *abroad) because(what string, err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	var api *jetstream.APIError
	switch denied := a.refusal(); {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		hint = "the account has no JetStream: give it jetstream: enabled, and the account limits"
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		hint = "its servers have no JetStream: set jetstream { store_dir: … }"
	case denied != "" && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)):
		hint = "the account or user lacks rights (" + denied + "): it needs all subjects of an account of its own"
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

// refuses begins what is said of errors that come later than the first.
const refuses = "the NATS cluster refuses"

func offer(code jetstream.ErrorCode) string {
	switch code {
	case errSingleServer:
		return "it is a single server: keep everything on one, with --nats-replicas 1"
	case errNoPeers, errNoCluster:
		return "it has too few servers with JetStream, or with room, for as many copies: start them, or give --nats-replicas 1"
	case errStreams, errConsumers:
		return "the account may have no more streams or consumers, and fettle needs 13 streams"
	case errAccountRoom, errServerRoom, errMemory, errStorage, errLargestStream, errNoLimits:
		return "the cluster or the account has no room left: give it more storage"
	case errOldServer:
		return "its servers are too old: NATS 2.11 or later is required"
	}
	return ""
}

// isFinal tells errors of the cluster that trying again does not help against.
func (a *abroad) isFinal(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode != errNoPeers && api.ErrorCode != errServerRoom && offer(api.ErrorCode) != ""
	}
	return a.refusal() != "" || errors.Is(err, errUnsealed) || errors.Is(err, errChanged)
}

// errChanged is about a bucket that is not as hubs make it.
var errChanged = errors.New("somebody made it, or changed it, so that it does not keep what it has to")

// metaBucket says whose all the buckets of a prefix are.
const (
	metaBucket = "meta"
	metaKey    = "fleet"
)

// claim looks whether what is kept under the prefix is this fleet's, and makes it so where
// there is nothing yet: two fleets of one name would take each other's things for lost.
func (a *abroad) claim(ctx context.Context) error {
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
			return fmt.Errorf("cannot use the NATS cluster: what is kept there as %s belongs to another fleet of that name, or was sealed with another key than that of this directory. Give this fleet an account of its own, or remove those buckets: %w", a.conf.Prefix, err)
		}
		return nil
	})
}

// persist does what the cluster may refuse for a while, and waits for it.
func (a *abroad) persist(ctx context.Context, do func(context.Context) error) error {
	return persist(ctx, do, a.isFinal)
}

// openBucket opens a bucket as it is, and makes it where there is none.
func (a *abroad) openBucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	full := a.conf.bucket(name)
	what := "cannot open the bucket " + full + " of the NATS cluster"
	kv, err := a.js.KeyValue(ctx, full)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = a.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: full, Description: "fettle: sealed by its hubs", History: 1, Storage: jetstream.FileStorage, Replicas: orElse(a.conf.Replicas, mostCopies),
			MaxValueSize: MaxValue + sealRoom + headRoom, LimitMarkerTTL: markerTime,
		})
		if errors.Is(err, jetstream.ErrBucketExists) { // another hub was faster
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
		return nil, fmt.Errorf("%s: %w: its history is %d, its TTL %s and its marker TTL %s, in place of 1, 0s and %s", what, errChanged, status.History(), status.TTL(), status.LimitMarkerTTL(), markerTime)
	}
	a.note("KV_" + full)
	return kv, nil
}

func (a *abroad) note(stream string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.opened, stream) {
		a.opened = append(a.opened, stream)
	}
}

// leastLog is the smallest log that is worth having, in bytes.
const leastLog = 64 << 20

// openLog opens a log, and makes it as large as the cluster offers where there is none.
func (a *abroad) openLog(ctx context.Context, c LogConfig) (jetstream.Stream, error) {
	full := "LOG_" + a.conf.bucket(c.Name)
	what := "cannot open the log " + full + " of the NATS cluster"
	conf := jetstream.StreamConfig{
		Name: full, Subjects: []string{a.conf.Prefix + ".log." + c.Name}, Description: "fettle: sealed by its hubs", Storage: jetstream.FileStorage, Replicas: orElse(a.conf.Replicas, mostCopies),
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
			a.warn(fmt.Sprintf("the NATS cluster has no room for a log of %d MiB: it is made with half of %d MiB", want>>20, conf.MaxBytes>>20))
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

// copies are where everything is kept that was opened.
func (a *abroad) copies(ctx context.Context) ([]Copies, error) {
	a.mu.Lock()
	opened := slices.Clone(a.opened)
	a.mu.Unlock()
	var out []Copies
	for _, name := range opened {
		s, err := a.js.Stream(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("cannot tell where things are kept: %w", err)
		}
		out = append(out, copiesOf(s.CachedInfo()))
	}
	return out, nil
}
