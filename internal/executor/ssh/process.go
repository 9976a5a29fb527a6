package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/executor/ssh/mux"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/host/local"
)

// process is a running ssh, or a session in a kept connection. It is the stream to the
// binary on the target.
type process struct {
	carrier
	In    io.WriteCloser
	Ended <-chan struct{}
	line  *bufio.Reader
	out   io.Reader // the output after the last line of the script

	password func() (string, error)
	errs     said
	read     chan struct{} // closed when the error stream has ended
	timer    *time.Timer
	noise    strings.Builder
}

// carrier ends a process and returns its exit code.
type carrier interface {
	// Kill may be called again, and when all is over.
	Kill()
	// Code waits for the end. It is -1 if the process was killed, and 255 if the
	// connection failed.
	Code() int
}

// grace is how long ssh may take to end by itself.
const grace = 2 * time.Second

func startProcess(argv []string, password func() (string, error)) (*process, error) {
	s, err := local.StartStream(argv)
	if err != nil {
		return nil, err
	}
	p := &process{carrier: s, In: s.In, Ended: s.Ended, password: password}
	p.listen(s.Out, s.Err)
	return p, nil
}

func sessionProcess(s *mux.Session, password func() (string, error)) *process {
	p := &process{carrier: s, In: s.In, Ended: s.Ended, password: password}
	p.listen(s.Out, s.Err)
	return p
}

func (p *process) listen(out, errs io.Reader) {
	p.line = bufio.NewReaderSize(out, 64<<10)
	p.out = p.line
	p.read = make(chan struct{})
	go func() {
		defer close(p.read)
		p.watch(errs)
	}()
}

// lastWords waits until ssh has ended and said why. A connection that is kept may
// hold the stream of errors open, so that is not waited for as long.
func (p *process) lastWords() {
	select {
	case <-p.Ended:
	case <-time.After(grace):
		return
	}
	select {
	case <-p.read:
	case <-time.After(grace / 10):
	}
}

// said collects the error stream.
type said struct {
	mu      sync.Mutex
	text    strings.Builder
	trouble error // with the password of sudo
}

func (s *said) add(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Len() < maxSaid {
		s.text.Write(b)
	}
}

func (s *said) all() (text string, trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String(), s.trouble
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
	errSudoWrong = errors.New("sudo rejected the password")
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
					p.Kill()
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
	_, err := io.WriteString(p.In, text+"\n")
	return err == nil
}

// bootLine is the next line of the script, "" if the binary has started.
func (p *process) bootLine() (string, error) {
	for p.noise.Len() < maxSaid {
		b, err := p.line.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		text := strings.TrimRight(string(b), "\r\n")
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
	return "", errors.New("it prints without end")
}

// within gives f so much time, and ends ssh after that or when ctx ends.
func (p *process) within(ctx context.Context, most time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.timer = time.AfterFunc(most, func() {
		cancel(fmt.Errorf("it took more than %s: %w", most,
			context.DeadlineExceeded))
	})
	defer p.timer.Stop()
	stop := context.AfterFunc(ctx, p.Kill)
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
func (p *process) Write(b []byte) (int, error) { return p.In.Write(b) }

// Close closes the input of the process, and kills ssh if it does not end in time.
func (p *process) Close() error {
	err := p.In.Close()
	go func() {
		select {
		case <-p.Ended:
		case <-time.After(grace):
			p.Kill()
		}
	}()
	return err
}
