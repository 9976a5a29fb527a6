package local

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// Stream is a program of this machine whose standard streams are talked to while it
// runs. It is in a process group of its own: what a person types to interrupt this
// process does not reach it.
type Stream struct {
	In       io.WriteCloser
	Out, Err io.Reader
	// Ended is closed when the program has ended; Code may be asked then.
	Ended <-chan struct{}

	cmd  *exec.Cmd
	code int
}

// StartStream starts a program. Whoever does it reads Out and Err to their ends. The
// error is exec.ErrNotFound where there is no such program.
func StartStream(argv []string) (*Stream, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s := &Stream{cmd: cmd}
	var err error
	if s.In, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", argv[0], err)
	}
	if s.Out, err = cmd.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", argv[0], err)
	}
	if s.Err, err = cmd.StderrPipe(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", argv[0], err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", argv[0], err)
	}
	ended := make(chan struct{})
	s.Ended = ended
	go func() {
		// Not cmd.Wait, which closes streams that a process left behind may still hold,
		// with what it had to say in them.
		state, err := cmd.Process.Wait()
		s.code = -1
		if err == nil {
			s.code = state.ExitCode()
		}
		close(ended)
	}()
	return s, nil
}

// Code is the exit code, -1 for a program that was killed. It waits for the end.
func (s *Stream) Code() int {
	<-s.Ended
	return s.code
}

// Kill ends the program and what it started, but for what has left its group. It may
// be called again, and when all is over.
func (s *Stream) Kill() {
	select {
	case <-s.Ended: // its number may be another's by now
	default:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	}
	_ = s.In.Close()
}
