package repo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// batch is one `git cat-file --batch` that stays for the repository's life.
// It starts with the first use, and again after a cancelled or failed one.
type batch struct {
	git git

	mu     sync.Mutex // held for a whole exchange
	closed bool
	cmd    *exec.Cmd
	ctx    context.Context // of the process
	stop   context.CancelCauseFunc
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *head
}

// object is one answer. r returns size bytes and is valid until fn returns.
type object struct {
	typ  string
	size int64
	r    io.Reader
}

var errClosed = errors.New("the repository was closed")

// each requests the objects in order and calls fn with each answer. Requests are written ahead, so
// that many small objects cost one round trip. ids are full object names; fn need not read the
// content.
func (b *batch) each(ctx context.Context, ids []string, fn func(i int, o object) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.start(); err != nil {
		return err
	}
	process := b.ctx
	release := context.AfterFunc(ctx, func() { b.stop(context.Cause(ctx)) })
	written := make(chan error, 1)
	go func(in io.WriteCloser) { written <- request(in, ids) }(b.in)
	var err error
	for i := 0; i < len(ids) && err == nil; i++ {
		err = b.answer(ids[i], func(o object) error { return fn(i, o) })
	}
	if err != nil {
		b.end()
	}
	<-written
	if !release() && b.cmd != nil {
		b.end()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(context.Cause(process), errSilent) {
		return errSilent
	}
	return err
}

func request(in io.Writer, ids []string) error {
	w := bufio.NewWriter(in)
	for _, id := range ids {
		w.WriteString(id)
		w.WriteByte('\n')
	}
	return w.Flush()
}

// answer reads one "<id> <type> <size>\n<content>\n".
func (b *batch) answer(id string, fn func(object) error) error {
	line, err := b.out.ReadString('\n')
	if err != nil {
		b.end()
		return &objectError{id, "git ended: " + orElse(condense(b.stderr.String()), err.Error())}
	}
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return &objectError{id, "it is not in this repository (a shallow or partial clone?); run git fsck, or clone again"}
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return &objectError{id, fmt.Sprintf("git answered %q", shorten(line))}
	}
	content := &io.LimitedReader{R: b.out, N: size}
	r, err := checked(id, fields[1], size, content)
	if err == nil {
		err = fn(object{fields[1], size, r})
	}
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return err
	}
	_, err = b.out.Discard(1)
	return err
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (b *batch) start() error {
	if b.closed {
		return errClosed
	}
	if b.cmd != nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cmd := b.git.command(ctx, "cat-file", "--batch")
	b.stderr = &head{}
	cmd.Stderr = b.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel(nil)
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel(nil)
		return err
	}
	if err := cmd.Start(); err != nil {
		cancel(nil)
		return fmt.Errorf("cannot run git: %w", err)
	}
	b.ctx, b.cmd, b.stop, b.in = ctx, cmd, cancel, in
	b.out = bufio.NewReaderSize(watched{out, b.git.silence, cancel}, 64<<10)
	return nil
}

// end kills the process. Its error output remains readable.
func (b *batch) end() {
	if b.cmd == nil {
		return
	}
	b.stop(nil)
	_ = b.in.Close()
	_ = b.cmd.Wait()
	b.cmd = nil
}

func (b *batch) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end()
	b.closed = true
}
