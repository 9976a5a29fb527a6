package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

type commanded struct {
	Command      executor.Command `json:"command"`
	Options      executor.Options `json:"options"`
	OnDisconnect string           `json:"on_disconnect,omitempty"`
	Shows        bool             `json:"shows,omitempty"` // stream the output while the command runs
}

// errNoCommander is of a target whose executor runs lists only.
func errNoCommander() error {
	return fmt.Errorf("cannot run commands on the target: it only accepts step lists")
}

// command runs commands for the other end. Their output is content of the call, so that a
// slow reader blocks only the command.
func (v *server) command(ctx context.Context, c *incoming) (any, error) {
	var in commanded
	if err := c.params(&in); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	x, err := v.open(ctx, in.Command.ReadOnly)
	if err != nil {
		return nil, err
	}
	cx, ok := x.(executor.Commander)
	if !ok {
		return nil, errNoCommander()
	}
	run, cancel := v.runContext(ctx, in.OnDisconnect)
	defer cancel()
	defer c.stopWriting(ctx)()
	var show func(executor.Output)
	if in.Shows {
		show = func(o executor.Output) { _ = sendOutput(c, o) } // a client that left receives nothing
	}
	return cx.Command(run, in.Command, v.options(c, in.Options), show)
}

// sendOutput writes a piece of output: the stream, its length and itself.
func sendOutput(to io.Writer, o executor.Output) error {
	var head [5]byte
	if o.Stderr {
		head[0] = 1
	}
	binary.BigEndian.PutUint32(head[1:], uint32(len(o.Text)))
	_, err := to.Write(append(head[:], o.Text...))
	return err
}

// readOutput shows pieces until there are no more.
func readOutput(from io.Reader, show func(executor.Output)) error {
	r := bufio.NewReader(from)
	var head [5]byte
	for {
		if _, err := io.ReadFull(r, head[:]); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		size := binary.BigEndian.Uint32(head[1:])
		if size > maxMessage>>6 {
			return fmt.Errorf("%w: one message with %d bytes of output", errMalformed, size)
		}
		text := make([]byte, size)
		n, err := io.ReadFull(r, text)
		if n > 0 {
			show(executor.Output{Stderr: head[0] == 1, Text: text[:n]})
		}
		if err == io.ErrUnexpectedEOF || n == 0 && err == io.EOF {
			return nil // it was cut off: the answer says why
		}
		if err != nil {
			return err
		}
	}
}

func commandsOf(ctx context.Context, x executor.Executor) ([]journal.Command, error) {
	cx, ok := x.(executor.Commander)
	if !ok {
		return nil, errNoCommander()
	}
	return cx.Commands(ctx)
}

var (
	_ executor.Commander = (*Client)(nil)
	_ executor.Files     = (*Client)(nil)
)

// Command implements executor.Commander. If the connection is lost, OnDisconnect decides
// about the command. With Revert, a command is only stopped, since it cannot be undone.
func (x *Client) Command(ctx context.Context, c executor.Command, o executor.Options,
	show func(executor.Output)) (*executor.CommandResult, error) {
	var err error
	if c.Secrets, err = x.resealer(ctx)(c.Secrets); err != nil {
		return nil, err
	}
	in := commanded{Command: c, Options: o, OnDisconnect: x.options.OnDisconnect, Shows: show != nil}
	var data func(io.Reader) error
	if show != nil {
		data = func(r io.Reader) error { return readOutput(r, show) }
	}
	var res *executor.CommandResult
	err = x.call(ctx, callOf(c), in, &res, nil, data)
	return res, err
}

// lockedCommand is the call of a command that needs slots. An earlier version does not have it, and would ignore
// Command.Locks.
const lockedCommand = "locked-command"

func callOf(c executor.Command) string {
	if len(c.Locks) > 0 {
		return lockedCommand
	}
	return "command"
}

// Commands implements executor.Commander.
func (x *Client) Commands(ctx context.Context) (all []journal.Command, err error) {
	err = x.call(ctx, "commands", nil, &all, nil, nil)
	return all, err
}
