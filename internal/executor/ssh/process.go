package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/executor/wire"
)

// process is a running ssh. It is the stream to what runs on the target.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	line *bufio.Reader
	out  io.Reader // what comes, once the script has nothing to say any more

	password func() (string, error)
	errs     said
	ended    chan struct{} // closed when ssh has ended
	timer    *time.Timer
	noise    strings.Builder
}

// grace is how long ssh may take to end by itself.
const grace = 2 * time.Second

func startProcess(cmd *exec.Cmd, password func() (string, error)) (*process, error) {
	p := &process{cmd: cmd, password: password, ended: make(chan struct{})}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.line = bufio.NewReaderSize(out, 64<<10)
	p.out = p.line
	read := make(chan struct{})
	go func() { defer close(read); p.watch(errs) }()
	go func() {
		// A connection that is kept holds the pipe of errors open: ssh has said what it
		// had to say when it ends.
		state, _ := cmd.Process.Wait()
		select {
		case <-read:
		case <-time.After(grace / 10):
		}
		p.errs.end(state.ExitCode())
		close(p.ended)
	}()
	return p, nil
}

// said is what came on the error stream.
type said struct {
	mu      sync.Mutex
	text    strings.Builder
	code    int
	trouble error // with the password of sudo
}

func (s *said) add(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Len() < maxSaid {
		s.text.Write(b)
	}
}

func (s *said) end(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code = code
}

func (s *said) all() (text string, code int, trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String(), s.code, s.trouble
}

func (s *said) blame(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = err
}

const (
	maxSaid = 64 << 10
	prompt  = "fettle-sudo-password:"
)

var (
	errSudoAsks  = errors.New("sudo asks for a password")
	errSudoWrong = errors.New("sudo did not take the password")
)

// watch reads the error stream, and answers sudo once.
func (p *process) watch(r io.Reader) {
	buf := make([]byte, 4096)
	asked, tail := 0, ""
	for {
		n, err := r.Read(buf)
		if n > 0 {
			tail += string(buf[:n])
			for {
				before, after, found := strings.Cut(tail, prompt)
				if !found {
					break
				}
				p.errs.add([]byte(before))
				tail = after
				if asked++; !p.answer(asked) {
					p.kill()
				}
			}
			if keep := len(tail) - len(prompt); keep > 0 {
				p.errs.add([]byte(tail[:keep]))
				tail = tail[keep:]
			}
		}
		if err != nil {
			p.errs.add([]byte(tail))
			return
		}
	}
}

// answer gives sudo the password when it first asks. The second time it was wrong.
func (p *process) answer(time int) bool {
	if time > 1 {
		p.errs.blame(errSudoWrong)
		return false
	}
	text := ""
	if p.password != nil {
		var err error
		if text, err = p.password(); err != nil {
			p.errs.blame(err)
			return false
		}
	}
	if text == "" {
		p.errs.blame(errSudoAsks)
		return false
	}
	_, err := io.WriteString(p.in, text+"\n")
	return err == nil
}

// bootLine is what the script says next, "" when the program speaks instead.
func (p *process) bootLine() (string, error) {
	for p.noise.Len() < maxSaid {
		text, err := p.line.ReadString('\n')
		text = strings.TrimRight(text, "\r\n")
		if said, ok := strings.CutPrefix(text, "fettle-boot "); ok {
			return said, nil
		}
		if text == wire.Magic {
			p.out = io.MultiReader(strings.NewReader(wire.Magic+"\n"), p.line)
			return "", nil
		}
		p.noise.WriteString(text + "\n")
		if err != nil {
			return "", err
		}
	}
	return "", errors.New("it talks without end")
}

// within gives f so much time, and ends ssh after that or when ctx ends.
func (p *process) within(ctx context.Context, most time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.timer = time.AfterFunc(most, func() { cancel(fmt.Errorf("it took more than %s: %w", most, context.DeadlineExceeded)) })
	defer p.timer.Stop()
	stop := context.AfterFunc(ctx, p.kill)
	defer stop()
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// extend gives more time.
func (p *process) extend(by time.Duration) { p.timer.Reset(by) }

// Read implements io.Reader.
func (p *process) Read(b []byte) (int, error) { return p.out.Read(b) }

// Write implements io.Writer.
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close lets the other end know that nothing more comes, and ends ssh if that is not
// enough.
func (p *process) Close() error {
	err := p.in.Close()
	go func() {
		select {
		case <-p.ended:
		case <-time.After(grace):
			p.kill()
		}
	}()
	return err
}

// kill ends ssh at once. It may be called again.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.in.Close()
}
