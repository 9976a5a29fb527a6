package wire

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/secret/vault"
	"fettle.dev/fettle/internal/step"
)

// Options say how this end behaves. The zero value is right for a pipe.
type Options struct {
	// OnDisconnect decides about a run when the connection is lost: Finish (the default),
	// Stop or Revert.
	OnDisconnect string
	// Silence is the time without traffic after which the other end is pinged. After the
	// same time again the connection is closed. 0 disables both.
	Silence time.Duration
	// MaxMessage limits the size of one message of the other end, and of messages in pieces together, in bytes. 0 is the
	// largest size that the protocol permits.
	MaxMessage int
	// Identities open the sealing key of a list's secrets, which is then handed over
	// sealed to the target's own identity. nil, or none that fits, leaves it as it is.
	Identities func() (vault.Identities, error)
	// Sign signs a call for the target, if the target refuses it with ErrUnsigned. nil signs
	// none.
	Sign func(call string, params []byte) (signed string, err error)
}

// Client is the executor at the other end of a stream. It is used by one goroutine
// at a time, but for Close.
type Client struct {
	conn    *conn
	hello   Hello
	facts   map[string]cty.Value
	options Options
	ended   chan error
	signs   atomic.Bool // the target requires signatures

	mu      sync.Mutex
	current executor.Request
	blobs   map[string]kind.Blob
	putting *putting // what Put sends
}

var _ executor.Executor = (*Client)(nil)

// Dial takes the stream of a served executor and waits for it to introduce itself.
// The client owns the stream; Close closes it. When ctx ends before that, so does
// the stream.
func Dial(ctx context.Context, stream io.ReadWriteCloser, o Options) (*Client, error) {
	x := &Client{options: o, ended: make(chan error, 1), blobs: map[string]kind.Blob{}}
	x.conn = newConn(stream, 1, map[string]handler{"load": x.load, "next": x.nextRequest, "content": x.content,
		"file": x.file, "begins": x.begins})
	x.conn.most = cmp.Or(o.MaxMessage, maxMessage)
	r := newReader(stream)
	stop := context.AfterFunc(ctx, func() { _ = stream.Close() })
	var err error
	if x.hello, err = hear(r, x.conn.most); err == nil {
		x.facts, err = decodeFacts(x.hello.Facts)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = stream.Close()
		return nil, err
	}
	go func() { x.ended <- x.conn.run(context.WithoutCancel(ctx), r) }()
	go x.conn.watch(o.Silence)
	return x, nil
}

// Hello is how the target introduced itself.
func (x *Client) Hello() Hello { return x.hello }

// Facts are all facts of the target, as they were when the connection was made.
func (x *Client) Facts() map[string]cty.Value { return x.facts }

// Close ends the connection. OnDisconnect decides about work on the target.
func (x *Client) Close() error {
	x.conn.lose(nil)
	<-x.ended
	return nil
}

// Collected tells the target that these reports were seen.
func (x *Client) Collected(ctx context.Context, names []string) error {
	return x.call(ctx, "collected", names, nil, nil, nil)
}

// take makes r the current request, about which the target may ask.
func (x *Client) take(r executor.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current = r
	for d, b := range r.Blobs {
		x.blobs[d] = b
	}
}

// pushed is the maximum number of steps of a list that is sent with its request. This
// saves the target a round trip.
const pushed = 2000

// send encodes a request.
func (x *Client) send(ctx context.Context, r executor.Request) (request, error) {
	x.take(r)
	w := encodeRequest(&r)
	if r.Load != nil || len(r.List) > pushed {
		return w, nil
	}
	var err error
	w.Loaded, err = encodeLoaded(&r, x.resealer(ctx))
	return w, err
}

// resealer encrypts the sealing key to the target's own identity. A client that cannot
// decrypt the key leaves it unchanged: the target may be one of its recipients.
func (x *Client) resealer(ctx context.Context) func(secret.Bundle) (secret.Bundle, error) {
	return func(b secret.Bundle) (secret.Bundle, error) {
		if b.Key == "" || x.options.Identities == nil {
			return b, nil
		}
		ids, err := x.options.Identities()
		if err != nil || len(ids) == 0 {
			return b, err
		}
		public := x.hello.Public
		if public == "" {
			if err := x.call(ctx, "identity", nil, &public, nil, nil); err != nil {
				return b, err
			}
		}
		file, err := vault.HandOver(b.KeyFile, ids, public)
		if err != nil {
			return b, err
		}
		b.KeyFile = file
		return b, nil
	}
}

func (x *Client) filled() (executor.Request, error) {
	x.mu.Lock()
	r := x.current
	x.mu.Unlock()
	err := r.Fill()
	if err == nil {
		x.take(r)
	}
	return r, err
}

// load answers the target's question for the list.
func (x *Client) load(ctx context.Context, _ *incoming) (any, error) {
	r, err := x.filled()
	if err != nil {
		return nil, err
	}
	return encodeLoaded(&r, x.resealer(ctx))
}

// nextRequest answers what the request is with outputs that are known by now.
func (x *Client) nextRequest(ctx context.Context, c *incoming) (any, error) {
	var k known
	if err := c.params(&k); err != nil {
		return nil, err
	}
	x.mu.Lock()
	next := x.current.Next
	x.mu.Unlock()
	if next == nil {
		return nil, fmt.Errorf("cannot compile the list with other outputs: it uses no outputs")
	}
	r, err := next(k.Known)
	if err != nil {
		return nil, err
	}
	return x.send(ctx, r)
}

// content sends what the target lacks, one after the other.
func (x *Client) content(ctx context.Context, c *incoming) (any, error) {
	var w wantedContent
	if err := c.params(&w); err != nil {
		return nil, err
	}
	defer c.stopWriting(ctx)()
	for i, d := range w.Digests {
		if i > 0 {
			w.From = 0
		}
		if err := x.sendContent(c, d, w.From); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// sendContent sends content but for its first bytes.
func (x *Client) sendContent(to io.Writer, digest string, begin int64) error {
	b, err := x.blob(digest)
	if err != nil {
		return err
	}
	from, err := openBlob(b)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := skip(from, begin); err != nil {
		return err
	}
	n, err := io.CopyBuffer(onlyWriter{to}, io.LimitReader(from, b.Size+1-begin), make([]byte, maxFrame))
	if err == nil && n != b.Size-begin {
		err = fmt.Errorf("%s changed while it was read: run fettle again", b.Path)
	}
	return err
}

// blob is content that the list at hand names.
func (x *Client) blob(digest string) (kind.Blob, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	b, ok := x.blobs[digest]
	if !ok {
		return b, fmt.Errorf("cannot send %s: the list does not contain it", digest)
	}
	return b, nil
}

func openBlob(b kind.Blob) (io.ReadCloser, error) {
	if b.Tree == nil {
		return io.NopCloser(bytes.NewReader(b.Data)), nil
	}
	return b.Tree.Open(b.Path)
}

// onlyWriter has io.CopyBuffer use the buffer.
type onlyWriter struct{ io.Writer }

// Plan implements executor.Executor.
func (x *Client) Plan(ctx context.Context, r executor.Request) (*plan.Plan, error) {
	w, err := x.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return x.planCall(ctx, "plan", planned{w})
}

func (x *Client) planCall(ctx context.Context, method string, params any) (*plan.Plan, error) {
	var a planAnswer
	err := x.call(ctx, method, params, &a, nil, nil)
	return a.Plan, err
}

// Apply implements executor.Executor.
func (x *Client) Apply(ctx context.Context, r executor.Request, p *plan.Plan, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	w, err := x.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return x.run(ctx, "apply", applied{w, digestOf(p), o, x.options.OnDisconnect}, show)
}

func digestOf(p *plan.Plan) string {
	if p == nil {
		return ""
	}
	return p.Digest()
}

// run calls what gives a report, and tells the target that it has come.
func (x *Client) run(ctx context.Context, method string, params any,
	show func(executor.Event)) (*executor.Report, error) {
	var rep *executor.Report
	err := x.call(ctx, method, params, &rep, events(show), nil)
	_ = x.conn.w.sendMessage(typeEvent, 0, []byte(`"heard"`))
	return rep, err
}

func events(show func(executor.Event)) func([]byte) {
	if show == nil {
		return nil
	}
	return func(text []byte) {
		var e executor.Event
		if journal.Unmarshal(text, &e) == nil {
			show(e)
		}
	}
}

// PlanRollback implements executor.Executor.
func (x *Client) PlanRollback(ctx context.Context, r executor.RollbackRequest) (*plan.Plan, error) {
	return x.planCall(ctx, "plan-rollback", r)
}

// Rollback implements executor.Executor.
func (x *Client) Rollback(ctx context.Context, r executor.RollbackRequest, p *plan.Plan, o executor.Options,
	show func(executor.Event)) (*executor.Report, error) {
	return x.run(ctx, "rollback", rolledBack{r, digestOf(p), o, x.options.OnDisconnect}, show)
}

// Drift implements executor.Executor.
func (x *Client) Drift(ctx context.Context, o executor.DriftOptions) (*plan.Plan, error) {
	return x.planCall(ctx, "drift", o)
}

// Recover implements executor.Executor.
func (x *Client) Recover(ctx context.Context, o executor.Options, show func(executor.Event)) (*executor.Report, error) {
	return x.run(ctx, "recover", asked{o}, show)
}

// Confirm implements executor.Executor.
func (x *Client) Confirm(ctx context.Context, o executor.Options) (int, error) {
	var r ran
	err := x.call(ctx, "confirm", asked{o}, &r, nil, nil)
	return r.Run, err
}

// Freeze implements executor.Executor.
func (x *Client) Freeze(ctx context.Context, f journal.Frozen, o executor.Options) error {
	return x.call(ctx, "freeze", frozen{f, o}, nil, nil, nil)
}

// Unfreeze implements executor.Executor.
func (x *Client) Unfreeze(ctx context.Context, o executor.Options) error {
	return x.call(ctx, "unfreeze", asked{o}, nil, nil, nil)
}

// Status implements executor.Executor.
func (x *Client) Status(ctx context.Context) (st executor.Status, err error) {
	err = x.call(ctx, "status", nil, &st, nil, nil)
	return st, err
}

// Condition implements executor.Executor.
func (x *Client) Condition(ctx context.Context) (c executor.Condition, err error) {
	err = x.call(ctx, "condition", nil, &c, nil, nil)
	return c, err
}

// Runs implements executor.Executor.
func (x *Client) Runs(ctx context.Context) (runs []journal.RunInfo, err error) {
	err = x.call(ctx, "runs", nil, &runs, nil, nil)
	return runs, err
}

// Show implements executor.Executor.
func (x *Client) Show(ctx context.Context, run int) (s executor.Shown, err error) {
	err = x.call(ctx, "show", run, &s, nil, nil)
	return s, err
}

// RunDetails implements executor.DetailsReader.
func (x *Client) RunDetails(ctx context.Context, run int, diffs bool) (d executor.RunDetails, err error) {
	err = x.call(ctx, "run-details", detailed{run, diffs}, &d, nil, nil)
	d.AddOrder()
	return d, err
}

// RunOf implements executor.Executor.
func (x *Client) RunOf(ctx context.Context, commit string) (int, bool, error) {
	var r ran
	err := x.call(ctx, "run-of", commit, &r, nil, nil)
	return r.Run, r.OK, err
}

// List implements executor.Executor.
func (x *Client) List(ctx context.Context, run int) (step.List, error) {
	var l listed
	if err := x.call(ctx, "list", run, &l, nil, nil); err != nil {
		return nil, err
	}
	return decodeList(l.List)
}

// Collect implements executor.Executor.
func (x *Client) Collect(ctx context.Context, keep journal.Retention,
	o executor.Options) (c journal.Collected, err error) {
	err = x.call(ctx, "collect", collecting{keep, o}, &c, nil, nil)
	return c, err
}
