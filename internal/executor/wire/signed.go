package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"fettle.dev/fettle/internal/journal"
)

// ErrUnsigned: the target accepts the call only if it is signed. Nothing was executed.
var ErrUnsigned = errors.New("the call is not signed")

// signedCallName is the call that contains a signed call. The signed text holds the name and
// all parameters of that call, so nothing is executed that was not signed.
const signedCallName = "signed"

type signedCall struct {
	Signed string `json:"signed"`
}

// Accepted is a call that Served.Accept accepted.
type Accepted struct {
	Call   string
	Params []byte
	Signer string // for the history, "" for none
}

// readCalls are the calls that show only the target's own data, and change nothing. All other
// calls are refused to callers who may only read, also the calls that a later version adds.
func readCalls() []string {
	return []string{"status", "condition", "runs", "show", "run-details", "run-of", "list", "commands", "drift"}
}

// signable are the calls whose parameters are complete. A plan and an apply request content and
// lists during the call, so a signature of their parameters would not cover these.
func signable() []string {
	return []string{"command", lockedCommand, "put", "get", "drift", "plan-rollback", "rollback", "recover", "confirm",
		"freeze", "unfreeze", "collect", "identity", "collected"}
}

func (v *server) readOnly(call string) error {
	switch {
	case v.Refused == nil:
		return fmt.Errorf("cannot change this target: this connection has only the right to read (%w)", fs.ErrPermission)
	case errors.Is(v.Refused, ErrUnsigned) && !slices.Contains(signable(), call):
		return fmt.Errorf("cannot plan or apply through a hub: this host accepts signed commands, and a plan cannot be signed. Commit and push the change, or use --via ssh (%w)", fs.ErrPermission)
	}
	return fmt.Errorf("cannot do that: %w (%w)", v.Refused, fs.ErrPermission)
}

// signed serves the call in a signed text, and nothing of the call beside it.
func (v *server) signed(ctx context.Context, c *incoming) (any, error) {
	switch {
	case v.Accept == nil && v.ReadOnly:
		return nil, v.readOnly(c.Method)
	case v.Accept == nil:
		return nil, errors.New("cannot accept a signed call: this connection requires no signature")
	}
	var in signedCall
	if err := c.params(&in); err != nil {
		return nil, err
	}
	a, err := v.Accept(in.Signed)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", err, fs.ErrPermission)
	}
	if !slices.Contains(signable(), a.Call) {
		return nil, fmt.Errorf(
			"cannot execute the signed call %.40q: there is no such call. Use the same version of fettle on both hosts (%w)",
			a.Call, fs.ErrPermission)
	}
	c.Method, c.Params, c.signed, c.signer = a.Call, a.Params, true, a.Signer
	return v.all()[a.Call](ctx, c)
}

// call calls the target. If the target requires a signature, the call is signed and made again.
func (x *Client) call(ctx context.Context, method string, params, result any, show func([]byte),
	data func(io.Reader) error) error {
	if !x.signs.Load() || slices.Contains(readCalls(), method) || !slices.Contains(signable(), method) {
		err := x.conn.call(ctx, method, params, result, show, data)
		if !errors.Is(err, ErrUnsigned) || x.options.Sign == nil {
			return err
		}
	}
	text, err := journal.Marshal(params)
	if err != nil {
		return err
	}
	signed, err := x.options.Sign(method, text)
	if err != nil {
		return err
	}
	x.signs.Store(true)
	return x.conn.call(ctx, signedCallName, signedCall{signed}, result, show, data)
}
