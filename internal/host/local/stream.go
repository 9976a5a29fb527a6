package local

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// Stream is a program of this host whose standard streams are used while it runs. It has its own
// process group, so that a keyboard interrupt of this process does not reach it.
type Stream struct {
	In       io.WriteCloser
	Out, Err io.Reader
	// Ended is closed when the program has ended; Code is valid then.
	Ended <-chan struct{}

	cmd  *exec.Cmd
	code int
}

// StartStream starts a program. The caller must read Out and Err to their ends. The error is
// exec.ErrNotFound if the program does not exist.
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
		// Not cmd.Wait, which closes streams that a remaining process can still hold, and loses its
		// output.
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

// Kill kills the program and its descendants, except processes that have left its group. It can be
// called repeatedly, and after the end.
func (s *Stream) Kill() {
	select {
	case <-s.Ended: // the number can belong to another process by now
	default:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	}
	_ = s.In.Close()
}
