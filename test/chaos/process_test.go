package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// node is a process in a network namespace, which is started again if it ends by itself.
type node struct {
	name, address string
	dir           string // of all that is this node's
	argv          []string
	env           []string

	mu      sync.Mutex
	up      bool // it is to run
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the supervisor of this start has ended
	paused  bool
	crashes []string // ends that nobody asked for
}

func (n *node) logFile() string { return filepath.Join(n.dir, "log") }

// start starts the process, and starts it again until stop or kill.
func (n *node) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.up {
		return
	}
	n.up, n.paused, n.ended = true, false, make(chan struct{})
	go n.supervise(n.ended)
}

// restartAfter is RestartSec of the units.
const restartAfter = 2 * time.Second

func (n *node) supervise(ended chan struct{}) {
	defer close(ended)
	for {
		cmd, err := n.begin()
		if err == nil && cmd == nil {
			return
		}
		if err == nil {
			err = cmd.Wait()
		}
		n.mu.Lock()
		up := n.up
		if up {
			n.crashes = append(n.crashes, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
		}
		n.mu.Unlock()
		if !up {
			return
		}
		time.Sleep(restartAfter)
	}
}

// begin starts the process once, unless the node was stopped meanwhile.
func (n *node) begin() (*exec.Cmd, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		return nil, nil
	}
	log, err := os.OpenFile(n.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	fmt.Fprintf(log, "--- %s started\n", time.Now().Format(time.TimeOnly))
	n.cmd = n.command(n.argv...)
	n.cmd.Stdout, n.cmd.Stderr = log, log
	return n.cmd, n.cmd.Start()
}

// command is a program in the namespace of the node.
func (n *node) command(argv ...string) *exec.Cmd {
	cmd := exec.Command("ip", append([]string{"netns", "exec", n.name}, argv...)...)
	cmd.Env = append(os.Environ(), n.env...)
	return cmd
}

// end sends a signal, and waits until the process has ended.
func (n *node) end(sig syscall.Signal) {
	n.mu.Lock()
	if !n.up {
		n.mu.Unlock()
		return
	}
	n.up, n.paused = false, false
	if n.cmd != nil && n.cmd.Process != nil {
		_ = n.cmd.Process.Signal(sig) // it may have ended by itself
		if sig != syscall.SIGKILL {
			_ = n.cmd.Process.Signal(syscall.SIGCONT)
		}
	}
	ended, cmd := n.ended, n.cmd
	n.mu.Unlock()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Process.Kill() // as systemd does after TimeoutStopSec
		}
		<-ended
	}
}

func (n *node) kill() { n.end(syscall.SIGKILL) }
func (n *node) stop() { n.end(syscall.SIGTERM) }

// pause stops all threads of the process, until resume.
func (n *node) pause() { n.signal(syscall.SIGSTOP, true) }

func (n *node) resume() { n.signal(syscall.SIGCONT, false) }

func (n *node) signal(sig syscall.Signal, paused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.up && n.cmd != nil && n.cmd.Process != nil {
		_ = n.cmd.Process.Signal(sig)
		n.paused = paused
	}
}

// runs tells whether the process is to run, and is not paused.
func (n *node) runs() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.up && !n.paused
}
