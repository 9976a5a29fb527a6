package mux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Socket is a connection to a master.
type Socket interface {
	io.ReadWriteCloser
	// Pass gives the other end a file along with one byte.
	Pass(*os.File) error
}

// Request is a command to run in a session.
type Request struct {
	Command string
	// Env is the environment. The master forwards only the variables that its SendEnv
	// names.
	Env []string
}

// Session is a command that runs on the other machine.
type Session struct {
	In io.WriteCloser
	// Out and Err end when the session has.
	Out, Err io.Reader
	// Ended is closed when the session has ended and Out and Err have all its output.
	// Code is valid after that.
	Ended <-chan struct{}

	conn     Socket
	out, err *os.File
	id       uint32
	code     int
	killed   chan struct{}
	kill     sync.Once
}

// request is the number of the one request that a connection to a master has.
const request = 0

// lost is the code of a session whose connection was lost, as ssh has it.
const lost = 255

// Open starts a session. It takes ownership of the connection, also if it fails. After a
// failure, either nothing was started, or the started command received no input and loses
// its session. If ctx ends first, its cause is the error; afterwards ctx has no effect.
func Open(ctx context.Context, conn Socket, r Request) (*Session, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	s, err := open(conn, r)
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		_ = conn.Close()
		if s != nil {
			s.closeStreams()
		}
		return nil, fmt.Errorf("cannot open a session in the shared connection: %w", err)
	}
	ended := make(chan struct{})
	s.Ended = ended
	s.Out, s.Err = &stream{s.out, ended}, &stream{s.err, ended}
	go func() {
		defer close(ended)
		s.code = s.wait()
		_ = conn.Close()
	}()
	return s, nil
}

func open(conn Socket, r Request) (*Session, error) {
	ask, err := newSession(request, r)
	if err != nil {
		return nil, err
	}
	s := &Session{conn: conn, killed: make(chan struct{})}
	theirs, err := s.streams()
	defer closeAll(theirs)
	if err != nil {
		return s, err
	}
	if _, err := conn.Write(append(hello(), ask...)); err != nil {
		return s, err
	}
	for _, f := range theirs {
		if err := conn.Pass(f); err != nil {
			return s, err
		}
	}
	return s, s.opened()
}

// opened reads what a master answers.
func (s *Session) opened() error {
	m, err := read(s.conn)
	if err != nil {
		return err
	}
	if m.kind != kindHello || m.id != version {
		return fmt.Errorf("%w: kind %#x, version %d, instead of version %d", errMalformed, uint32(m.kind), m.id, version)
	}
	if m, err = read(s.conn); err != nil {
		return err
	}
	switch {
	case m.id != request:
		return fmt.Errorf("%w: it answers request %d", errMalformed, m.id)
	case m.kind == kindOpened:
		s.id = m.value
		return nil
	case m.kind == kindDenied, m.kind == kindFailed:
		return fmt.Errorf("it is refused: %q", m.reason)
	default:
		return fmt.Errorf("%w: it answers with kind %#x", errMalformed, uint32(m.kind))
	}
}

// wait reads the exit code, and on until the master has written all that the session
// said: it closes the connection then.
func (s *Session) wait() int {
	code := lost
	for seen := false; ; seen = true {
		m, err := read(s.conn)
		if err != nil {
			break
		}
		if m.kind != kindEnded || m.id != s.id || seen {
			code = lost
			break
		}
		code = int(m.value & 0xff)
	}
	select {
	case <-s.killed:
		return -1
	default:
		return code
	}
}

// Code is the exit code: 255 where the connection was lost, -1 for a session that was
// killed. It waits for the end.
func (s *Session) Code() int {
	<-s.Ended
	return s.code
}

// unheard is how long a master may take to let go of a session that was killed.
const unheard = 2 * time.Second

// Kill ends the session. It may be called again, and when all is over.
func (s *Session) Kill() {
	s.kill.Do(func() {
		select {
		case <-s.Ended: // its output can still be read
		default:
			close(s.killed)
			// A master that hangs would never close them.
			_ = s.out.SetReadDeadline(time.Now())
			_ = s.err.SetReadDeadline(time.Now().Add(unheard))
		}
		_ = s.conn.Close()
		_ = s.In.Close()
	})
}

// streams makes the standard streams, and gives the ends that are the session's.
func (s *Session) streams() (theirs []*os.File, err error) {
	in, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.In, theirs = ours, []*os.File{in}
	for _, mine := range []**os.File{&s.out, &s.err} {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		*mine, theirs = r, append(theirs, w)
	}
	return theirs, nil
}

func (s *Session) closeStreams() {
	if s.In != nil {
		_ = s.In.Close()
	}
	closeAll([]*os.File{s.out, s.err})
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // of a nil one too
	}
}

// stream receives output of a session. Like the output of a local process, it ends when
// the session has ended, so that the reader can then call Code.
type stream struct {
	file  *os.File
	ended <-chan struct{}
}

func (s *stream) Read(b []byte) (int, error) {
	n, err := s.file.Read(b)
	if err != nil {
		<-s.ended
		_ = s.file.Close()
	}
	return n, err
}
