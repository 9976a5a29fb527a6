package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// far is an executor that notes what it is asked for.
type far struct {
	executor.Executor
	rollback executor.RollbackRequest
	frozen   journal.Frozen
	options  executor.Options
	keep     journal.Retention
	request  executor.Request
	hold     bool // Apply waits until its context ends
}

func (f *far) PlanRollback(_ context.Context, r executor.RollbackRequest) (*plan.Plan, error) {
	f.rollback = r
	return &plan.Plan{}, nil
}

func (f *far) Freeze(_ context.Context, z journal.Frozen, o executor.Options) error {
	f.frozen, f.options = z, o
	return nil
}

func (f *far) Collect(_ context.Context, k journal.Retention, o executor.Options) (journal.Collected, error) {
	f.keep, f.options = k, o
	return journal.Collected{}, nil
}

func (f *far) Status(context.Context) (executor.Status, error) { return executor.Status{}, nil }

// Plan reads the list and all its content.
func (f *far) Plan(_ context.Context, r executor.Request) (*plan.Plan, error) {
	f.request = r
	if err := f.request.Fill(); err != nil {
		return nil, err
	}
	for d, b := range f.request.Blobs {
		in, err := b.Tree.Open(b.Path)
		if err != nil {
			return nil, err
		}
		n, err := io.Copy(io.Discard, in)
		if err == nil && n != b.Size {
			err = fmt.Errorf("%s has %d bytes", d, n)
		}
		if err != nil {
			return nil, err
		}
	}
	return &plan.Plan{}, nil
}

func (f *far) Apply(ctx context.Context, _ executor.Request, _ *plan.Plan, _ executor.Options, show func(executor.Event)) (*executor.Report, error) {
	show(executor.Event{})
	if f.hold {
		<-ctx.Done()
		return &executor.Report{Run: 1, Outcome: journal.Interrupted}, context.Cause(ctx)
	}
	return &executor.Report{Run: 1}, nil
}

// served serves f over a pipe and gives the other end of it, and a channel that
// closes when serving has ended.
func served(f *far, s Served) (io.ReadWriteCloser, chan error) {
	near, at := net.Pipe()
	s.Hello, s.Now = Hello{Version: "test", Host: "far"}, time.Now
	s.Open = func(context.Context, bool) (executor.Executor, func() error, error) {
		return f, func() error { return nil }, nil
	}
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.Background(), at, s) }()
	return near, ended
}

func dial(t interface{ Fatal(...any) }, stream io.ReadWriteCloser, o Options) *Client {
	x, err := Dial(context.Background(), stream, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestRoundTrip: what is asked for here is what is asked for there.
func TestRoundTrip(t *testing.T) {
	f := &far{}
	stream, ended := served(f, Served{From: "test"})
	x := dial(t, stream, Options{})
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		back := executor.RollbackRequest{To: rapid.Int().Draw(t, "to"), CrossIrreversible: rapid.Bool().Draw(t, "cross"), Diffs: rapid.Bool().Draw(t, "diffs")}
		frozen := journal.Frozen{By: text.Draw(t, "by"), At: rapid.Int64().Draw(t, "at"), Why: text.Draw(t, "why")}
		keep := journal.Retention{Runs: rapid.Int().Draw(t, "runs"), Within: time.Duration(rapid.Int64().Draw(t, "within")),
			DryRun: rapid.Bool().Draw(t, "dry")}
		o := executor.Options{OnFailure: text.Draw(t, "on"), ConfirmWithin: time.Duration(rapid.Int64().Draw(t, "confirm")), User: text.Draw(t, "user"), Command: text.Draw(t, "command"), Unasked: rapid.Bool().Draw(t, "unasked")}
		content := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "content")
		r := requestOf(text.Draw(t, "target"), content)
		r.Policy.OnCrash, r.Repair, r.Verify = text.Draw(t, "policy"), rapid.Bool().Draw(t, "repair"), rapid.Bool().Draw(t, "verify")

		ctx := context.Background()
		_, err1 := x.PlanRollback(ctx, back)
		err2 := x.Freeze(ctx, frozen, o)
		gotFrozen, gotOptions := f.frozen, f.options
		_, err3 := x.Collect(ctx, keep, o)
		_, err4 := x.Plan(ctx, r)
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		o.From = "test"
		same(t, f.rollback, back)
		same(t, gotFrozen, frozen)
		same(t, gotOptions, o)
		same(t, f.keep, keep)
		same(t, f.request.Target, r.Target)
		same(t, f.request.Policy, r.Policy)
		same(t, []bool{f.request.Repair, f.request.Verify}, []bool{r.Repair, r.Verify})
		same(t, f.request.List.Digest(), r.List.Digest())
	})
	_ = x.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func same(t *rapid.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("there it is %#v, here %#v", got, want)
	}
}

// requestOf is a request for one file.
func requestOf(target string, content []byte) executor.Request {
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	l, ds := step.Parse("list", []byte("COPY "+digest+" /etc/motd owner=root group=root mode=0644\n"))
	if ds.Err() != nil {
		panic(ds.Err())
	}
	return executor.Request{Target: target, List: l, Blobs: map[string]kind.Blob{digest: {Digest: digest, Size: int64(len(content)), Data: content}}}
}

// TestOtherContent: content other than promised is refused, and so is more or less.
func TestOtherContent(t *testing.T) {
	promised := []byte("what was promised")
	for name, b := range map[string]kind.Blob{
		"other":    {Size: 17, Data: []byte("something unsaid.")},
		"less":     {Size: 17, Data: promised[:9]},
		"changed":  {Size: 17, Tree: repo.MapTree(map[string]string{"f": "what was promised, and more"}), Path: "f"},
		"negative": {Size: -1, Data: promised},
	} {
		stream, ended := served(&far{}, Served{})
		x := dial(t, stream, Options{})
		r := requestOf("web1", promised)
		for d := range r.Blobs {
			b.Digest = d
			r.Blobs[d] = b
		}
		if _, err := x.Plan(context.Background(), r); err == nil {
			t.Errorf("%s: it is taken", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
		_ = x.Close()
		<-ended
	}
}

// TestUninvited: the target is sent only what the list at hand names.
func TestUninvited(t *testing.T) {
	near, at := net.Pipe()
	c := newConn(at, 2, nil)
	errs := make(chan error, 1)
	go func() {
		_ = c.greet(Hello{})
		go func() { _ = c.run(context.Background(), newReader(at)) }()
		errs <- c.call(context.Background(), "content", wantedContent{Digests: []string{"../../etc/shadow"}}, nil, nil, func(r io.Reader) error {
			_, err := io.Copy(io.Discard, r)
			return err
		})
	}()
	x := dial(t, near, Options{})
	defer x.Close()
	if err := <-errs; err == nil || !strings.Contains(err.Error(), "the list does not contain it") {
		t.Errorf("it sends what nobody may ask for: %v", err)
	}
}

// TestBounds: an end that sends more than it may loses the connection.
func TestBounds(t *testing.T) {
	call := func(stream uint32) frame { return frame{typeCall, false, stream, []byte(`{"method":"hang"}`)} }
	var calls, parts, long, flood []frame
	for i := range uint32(maxCalls + 1) {
		calls = append(calls, call(2*i))
		parts = append(parts, frame{typeResult, true, 2 * i, nil})
	}
	for range 20 {
		long = append(long, frame{typeResult, true, 8, make([]byte, 100)})
	}
	for range windowSize/maxFrame + 1 {
		flood = append(flood, frame{typeData, false, 1, make([]byte, maxFrame)})
	}
	for name, frames := range map[string][]frame{"calls": calls, "twice": {call(2), call(2)}, "parts": parts, "long": long, "flood": flood, "no call": {{typeCall, false, 2, []byte("{")}}} {
		near, at := net.Pipe()
		c := newConn(near, 1, map[string]handler{"hang": func(ctx context.Context, _ *incoming) (any, error) {
			<-ctx.Done()
			return nil, nil
		}})
		c.most = 1000
		c.calls[1] = &outgoing{done: make(chan answer, 1), data: c.newInbox(1)}
		go func() {
			w := &writer{to: at}
			for _, f := range frames {
				if w.send(f) != nil {
					return
				}
			}
		}()
		go func() { _, _ = io.Copy(io.Discard, at) }()
		if err := c.run(context.Background(), newReader(near)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: it goes on: %v", name, err)
		}
		_ = at.Close()
	}
}

// TestSilence: an end of which nothing is heard is given up within the time that is
// set, calls end, and nothing stays behind.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, at := net.Pipe()
		go func() {
			_ = newConn(at, 2, nil).greet(Hello{})
			_, _ = io.Copy(io.Discard, at) // hears all and says nothing
		}()
		x := dial(t, near, Options{Silence: 15 * time.Second})
		began := time.Now()
		_, err := x.Status(context.Background())
		if took := time.Since(began); !errors.Is(err, ErrLost) || took != 30*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		_ = x.Close()
		_ = at.Close()
	})
}

// TestSilentClient: a run ends, goes on or stops as was said when nothing is heard of
// who asked for it, and its report is kept.
func TestSilentClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []Ended
		stream, ended := served(&far{hold: true}, Served{Silence: 20 * time.Second, Keep: func(e Ended) error {
			kept = append(kept, e)
			return nil
		}})
		r := newReader(stream)
		if _, err := hear(r, maxMessage); err != nil {
			t.Fatal(err)
		}
		r1 := executor.Request{Target: "web1"}
		l, err := encodeLoaded(&r1, func(b secret.Bundle) (secret.Bundle, error) { return b, nil })
		if err != nil {
			t.Fatal(err)
		}
		w := encodeRequest(&r1)
		w.Loaded = l
		text, err := journal.Marshal(applied{Request: w, OnDisconnect: Stop})
		if err != nil {
			t.Fatal(err)
		}
		message := append([]byte(`{"method":"apply","params":`), text...)
		go func() { _, _ = io.Copy(io.Discard, r.from) }()
		began := time.Now()
		go func() {
			_ = (&writer{to: stream}).sendMessage(typeCall, 1, append(message, '}'))
		}()
		<-ended
		if took := time.Since(began); took != 40*time.Second || len(kept) != 1 || kept[0].Report.Outcome != journal.Interrupted {
			t.Errorf("after %s: %+v", took, kept)
		}
		_ = stream.Close()
	})
}

// TestNoFettle: what something else says is in the error.
func TestNoFettle(t *testing.T) {
	for said, want := range map[string]string{
		"":                                     "without an answer",
		"command not found\n":                  "command not found",
		strings.Repeat("x\n", maxNoise):        "is not fettle",
		Magic + "\n":                           "stopped answering",
		Magic + "\n\x04\x00\x00\x00\x00\x00":   "stopped answering",
		"Welcome\n" + Magic + "\n\xff\xff\xff": "stopped answering",
	} {
		_, err := hear(newReader(strings.NewReader(said)), maxMessage)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", said, err, want)
		}
	}
}

// deaf is a stream that gives what it has and takes everything.
type deaf struct{ io.Reader }

func (deaf) Write(b []byte) (int, error) { return len(b), nil }
func (deaf) Close() error                { return nil }

// FuzzEnds: neither end panics or hangs, whatever the other one sends.
func FuzzEnds(f *testing.F) {
	var b bytes.Buffer
	w := &writer{to: &b}
	for i, m := range []string{`{"method":"plan","params":{"request":{"revision":{},"digest":"x","policy":{}}}}`, `{"method":"status"}`, `{"method":"show","params":3}`, `{"method":"collected","params":["../x"]}`} {
		_ = w.sendMessage(typeCall, uint32(2*i+1), []byte(m))
	}
	_ = w.sendMessage(typeResult, 1, []byte(`{}`))
	_ = w.sendMessage(typeFault, 1, []byte(`{"text":"no","is":["locked"]}`))
	_ = w.send(frame{typeGrant, false, 1, []byte{1, 2, 3, 4}})
	f.Add(b.Bytes())
	var hello bytes.Buffer
	_ = newConn(struct {
		io.Reader
		io.Writer
		io.Closer
	}{nil, &hello, nil}, 2, nil).greet(Hello{})
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = Serve(context.Background(), deaf{bytes.NewReader(data)}, Served{Now: time.Now,
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return nil, nil, errors.New("none")
			}})
		x, err := Dial(context.Background(), deaf{io.MultiReader(bytes.NewReader(hello.Bytes()), bytes.NewReader(data))}, Options{})
		if err != nil {
			return
		}
		_, _ = x.Status(context.Background())
		_ = x.Close()
		_, _ = Dial(context.Background(), deaf{io.MultiReader(strings.NewReader(Magic+"\n"), bytes.NewReader(data))}, Options{})
	})
}
