package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// commanding is an executor that also runs commands.
type commanding struct {
	far
	ran []executor.Command
}

func (f *commanding) Command(_ context.Context, c executor.Command, o executor.Options,
	show func(executor.Output)) (*executor.CommandResult, error) {
	f.ran, f.options = append(f.ran, c), o
	if show != nil {
		show(executor.Output{Text: []byte("hello\n")})
	}
	return &executor.CommandResult{ID: 1}, nil
}

func (f *commanding) Commands(context.Context) ([]journal.Command, error) { return nil, nil }

// sealedCall stands for a signed text; a test breaks it by changing a byte.
func sealedCall(call string, params []byte) (string, error) {
	text, err := json.Marshal(map[string]any{"call": call, "params": json.RawMessage(params)})
	return "sealed " + string(text), err
}

func acceptSealed(signed string) (Accepted, error) {
	var c struct {
		Call   string          `json:"call"`
		Params json.RawMessage `json:"params"`
	}
	text, ok := strings.CutPrefix(signed, "sealed ")
	if !ok || json.Unmarshal([]byte(text), &c) != nil {
		return Accepted{}, errors.New("the seal is broken")
	}
	return Accepted{Call: c.Call, Params: c.Params, Signer: "ann"}, nil
}

// strict connects a client to a target that requires signatures.
func strict(t *testing.T, x executor.Executor, o Options) *Client {
	t.Helper()
	near, target := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.Background(), target, Served{
			ReadOnly: true, Refused: fmt.Errorf("this host requires signatures: %w", ErrUnsigned), Accept: acceptSealed,
			From: "fleet bob", Now: time.Now,
			Open: func(context.Context, bool) (executor.Executor, func() error, error) {
				return x, func() error { return nil }, nil
			},
			Identity: func() (string, error) { return "age1", nil },
		})
	}()
	c, err := Dial(context.Background(), near, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return c
}

// A target that requires signatures executes signed calls, with the parameters that were signed,
// and its history names the signer. Calls that only read need no signature, and are not signed.
func TestSignedCalls(t *testing.T) {
	x, signs := &commanding{}, []string{}
	c := strict(t, x, Options{Sign: func(call string, params []byte) (string, error) {
		signs = append(signs, call)
		return sealedCall(call, params)
	}})
	ctx := context.Background()
	if _, err := c.Status(ctx); err != nil || len(signs) > 0 {
		t.Errorf("a status is signed: %v, %v", signs, err)
	}
	shown := ""
	cmd := executor.Command{Argv: [][]string{{"id"}}, Stdin: []byte("in"), User: "www"}
	res, err := c.Command(ctx, cmd, executor.Options{User: "ann"}, func(o executor.Output) { shown += string(o.Text) })
	if err != nil || res.ID != 1 || shown != "hello\n" || len(x.ran) != 1 || string(x.ran[0].Stdin) != "in" ||
		x.ran[0].User != "www" {
		t.Errorf("%+v, %v, %q, %+v", res, err, shown, x.ran)
	}
	if x.options.From != "fleet bob, signed by ann" || x.options.User != "ann" {
		t.Errorf("the history gets %+v", x.options)
	}
	if err := c.Freeze(ctx, journal.Frozen{Why: "r"}, executor.Options{}); err != nil || x.frozen.Why != "r" {
		t.Error(err, x.frozen)
	}
	if _, err := c.Status(ctx); err != nil || !slices.Equal(signs, []string{"command", "freeze"}) {
		t.Errorf("%v, %v", signs, err)
	}
	cmd.Locks = []string{"a"} // an earlier version does not have the call, and would ignore the locks
	if _, err := c.Command(ctx, cmd, executor.Options{}, nil); err != nil || !slices.Equal(x.ran[1].Locks, cmd.Locks) ||
		signs[2] != "locked-command" {
		t.Errorf("a command with a lock: %v, %+v, %v", err, x.ran, signs)
	}
	if _, err := c.Plan(ctx, executor.Request{}); !errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrUnsigned) ||
		!strings.Contains(err.Error(), "--via ssh") {
		t.Errorf("a plan: %v", err)
	}
	if len(signs) != 3 {
		t.Errorf("signed %v", signs)
	}
}

// Without a key, with a broken seal, and for calls that cannot be signed nothing is executed.
func TestUnsignedCalls(t *testing.T) {
	x := &commanding{}
	ctx := context.Background()
	show := func(executor.Output) {}
	if _, err := strict(t, x, Options{}).Command(ctx, executor.Command{}, executor.Options{}, show); !errors.Is(err,
		ErrUnsigned) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without a signature: %v", err)
	}
	broken := strict(t, x, Options{Sign: func(call string, params []byte) (string, error) {
		s, err := sealedCall(call, params)
		return s[1:], err
	}})
	if _, err := broken.Command(ctx, executor.Command{}, executor.Options{}, show); err == nil ||
		!strings.Contains(err.Error(), "the seal is broken") || errors.Is(err, ErrUnsigned) {
		t.Errorf("with a broken seal: %v", err)
	}
	keyless := strict(t, x, Options{Sign: func(string, []byte) (string, error) { return "", io.ErrUnexpectedEOF }})
	if _, err := keyless.Command(ctx, executor.Command{}, executor.Options{}, show); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without a key: %v", err)
	}
	for _, call := range []string{"apply", "plan", "status", "signed", "job", "", "load"} {
		signed, err := sealedCall(call, []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := keyless.conn.call(ctx, signedCallName, signedCall{signed}, nil, nil, nil); err == nil ||
			!strings.Contains(err.Error(), "there is no such call") {
			t.Errorf("the signed call %q: %v", call, err)
		}
	}
	if len(x.ran) > 0 {
		t.Errorf("executed %+v", x.ran)
	}
}

// Each call is one that only reads, one that can be signed, or one that requests more during the
// call. A new call needs a decision.
func TestClassesOfCalls(t *testing.T) {
	for name := range (&server{}).all() {
		dialogue := name == "plan" || name == "apply"
		reads, signs := slices.Contains(readCalls(), name), slices.Contains(signable(), name)
		if name != "drift" && reads && signs || !reads && !signs && !dialogue || dialogue && (reads || signs) {
			t.Errorf("the call %q: reads %v, can be signed %v", name, reads, signs)
		}
	}
	for _, name := range slices.Concat(readCalls(), signable()) {
		if (&server{}).all()[name] == nil {
			t.Errorf("there is no call %q", name)
		}
	}
}
