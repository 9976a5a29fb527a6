package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is a running child. In and Out are its standard streams; both fail
// when it ends. Its methods may be called from any goroutine.
type Child struct {
	In  io.WriteCloser
	Out io.Reader

	cmd    *exec.Cmd
	stderr head
	notes  *os.File
	once   sync.Once
	end    End
}

// End is how a child ended.
type End struct {
	// Code is the exit code, -1 after a signal.
	Code   int
	Signal string        // its name; "" where there was none
	Killed bool          // the signal was SIGKILL
	CPU    time.Duration // CPU time that it used
	Note   string        // the last note of the child
	Stderr string        // the first 16 KiB
}

// OutOfMemory reports whether the memory limit ended the child, according to the messages of Go's
// runtime; the race detector has its own.
func (e End) OutOfMemory() bool {
	return e.Code > 0 && e.says("out of memory", "cannot allocate memory", "failed to reserve",
		"failed to create new OS thread", "failed to allocate", "address space collisions")
}

// OutOfStack reports whether recursion ended the child.
func (e End) OutOfStack() bool {
	return e.Code > 0 && e.says("stack overflow", "goroutine stack exceeds")
}

func (e End) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(e.Stderr, t) })
}

// Start starts this program with a word, followed by the limits for Enter. The caller must always
// call End.
func Start(l Limits, word string) (*Child, error) {
	err := error(nil)
	for _, flags := range []uintptr{namespaces(), 0} { // where namespaces are forbidden, without
		var c *Child
		if c, err = start(l, word, flags); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("cannot start a process for the compiler: %w", err)
}

func namespaces() uintptr {
	flags := uintptr(syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC)
	if os.Geteuid() != 0 {
		flags |= syscall.CLONE_NEWUSER
	}
	return flags
}

func start(l Limits, word string, flags uintptr) (*Child, error) {
	fd, err := unix.MemfdCreate("fettle-notes", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	c := &Child{notes: os.NewFile(uintptr(fd), "notes")}
	c.cmd = exec.Command("/proc/self/exe")
	c.cmd.Args = append([]string{"fettle", word}, l.args()...)
	if _, err := os.Stat(c.cmd.Path); err != nil {
		if c.cmd.Path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	c.cmd.Dir = "/"
	// Two threads at a time: the work is done by one, and the memory it leaves
	// is collected by the other.
	c.cmd.Env = []string{"GOMAXPROCS=2"}
	c.cmd.ExtraFiles = []*os.File{c.notes}
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: flags}
	if c.In, err = c.cmd.StdinPipe(); err == nil {
		c.Out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		_ = c.notes.Close()
		return nil, err
	}
	return c, nil
}

// Kill ends the child at once. It may be called at any time, more than once.
func (c *Child) Kill() { _ = c.cmd.Process.Kill() }

// End closes the child's input, gives it a moment to end by itself, waits, and returns how it
// ended. Further calls return the same result.
func (c *Child) End() End {
	c.once.Do(func() {
		_ = c.In.Close()
		late := time.AfterFunc(time.Second, c.Kill)
		_ = c.cmd.Wait()
		late.Stop()
		state := c.cmd.ProcessState
		c.end = End{Code: state.ExitCode(), CPU: state.UserTime() + state.SystemTime(), Note: readNote(c.notes),
			Stderr: c.stderr.String()}
		if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			c.end.Signal, c.end.Killed = ws.Signal().String(), ws.Signal() == syscall.SIGKILL
		}
		_ = c.notes.Close()
	})
	return c.end
}

// readNote reads the last note of the child, which can have any content.
func readNote(f *os.File) string {
	b := make([]byte, noteSize)
	n, _ := f.ReadAt(b, 0)
	text, _, _ := strings.Cut(string(b[:n]), "\x00")
	return strings.ToValidUTF8(text, "?")
}

// head keeps the beginning of the data written to it.
type head struct {
	mu sync.Mutex
	b  []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := 16<<10 - len(h.b); room > 0 {
		h.b = append(h.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.b)
}
