package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// rebootCode is the exit code of systemd-nspawn for a reboot of its host, which must then be started
// again.
const rebootCode = 133

// boot is one life of a host, from power to power loss.
type boot struct {
	num    int
	leader atomic.Int64  // the host's process 1, as the world numbers it; 0 at first
	up     chan struct{} // closed when systemd has started everything
	gone   chan struct{} // closed when the last process is gone; code is set
	code   int
}

// launch powers the host on and returns at once. The caller holds h.mu.
func (h *Host) launch() error {
	if err := freshCgroup(h.group()); err != nil {
		return err
	}
	sock, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "/run/" + h.netns() + ".notify", Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("cannot boot %s: %w", h.Name, err)
	}
	log, err := os.OpenFile(h.console(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("cannot boot %s: %w", h.Name, errors.Join(err, sock.Close()))
	}
	b := &boot{num: 1, up: make(chan struct{}), gone: make(chan struct{})}
	if h.current != nil {
		b.num = h.current.num + 1
	}
	started := make(chan error)
	go h.supervise(b, h.nspawn(log), sock, started)
	err = <-started
	log.Close()
	if err != nil {
		return fmt.Errorf("cannot boot %s: %w", h.Name, errors.Join(err, sock.Close()))
	}
	h.current, h.off = b, false
	return nil
}

// nspawn returns the command that is the host's power supply. It starts as this
// test binary, to enter the cgroup before it becomes systemd-nspawn.
func (h *Host) nspawn(log *os.File) *exec.Cmd {
	argv := []string{
		h.group(), "systemd-nspawn", "--quiet", "--machine=" + h.Name, "--directory=" + h.root(), "--boot",
		"--register=no", "--keep-unit", "--notify-ready=yes", "--network-namespace-path=/run/netns/" + h.netns(),
		"--capability=CAP_NET_ADMIN", // of its own network, as with --private-network
		"--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self", // as without a container
		"--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe",
	}
	if h.opts.Repo != nil {
		argv = append(argv, "--bind-ro="+h.opts.Repo.dir+":"+repoPath)
	}
	for _, bind := range h.opts.Binds {
		flag := "--bind-ro="
		if bind.Writable {
			flag = "--bind="
		}
		argv = append(argv, flag+bind.From+":"+bind.To)
	}
	cmd := exec.Command("/proc/self/exe", argv...)
	cmd.Env = append(cleanEnv(), envStage+"="+stageBoot, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1", "SYSTEMD_NSPAWN_LOCK=0",
		"NOTIFY_SOCKET=/run/"+h.netns()+".notify")
	cmd.Stdout, cmd.Stderr = log, log
	return cmd
}

// supervise follows one boot to its end. A host that asked for a reboot gets
// the next one, unless it has been switched off meanwhile.
func (h *Host) supervise(b *boot, cmd *exec.Cmd, sock *net.UnixConn, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	err := cmd.Start()
	started <- err
	if err != nil {
		return
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		b.listen(sock)
	}()
	cmd.Wait() // its error only repeats the exit code
	b.code = cmd.ProcessState.ExitCode()
	sock.Close()
	os.Remove("/run/" + h.netns() + ".notify")
	<-heard
	killCgroup(h.group())
	await(context.Background(), func() bool { return cgroupEmpty(h.group()) })
	close(b.gone)
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.code == rebootCode && !h.off {
		h.launch() // after a failure, the wait for the boot times out
	}
}

// listen reads what systemd-nspawn tells its service manager, until sock is
// closed.
func (b *boot) listen(sock *net.UnixConn) {
	buf := make([]byte, 4096)
	for {
		n, err := sock.Read(buf)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(buf[:n])) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			switch {
			case name == "X_NSPAWN_LEADER_PID":
				pid, _ := strconv.Atoi(value)
				b.leader.Store(int64(pid))
			case name == "READY" && value == "1" && b.leader.Load() != 0:
				select {
				case <-b.up:
				default:
					close(b.up)
				}
			}
		}
	}
}

// cleanEnv is the environment of everything that runs on a host: nothing of
// the test's own gets there.
func cleanEnv() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "LANG=C.UTF-8", "TERM=dumb",
	}
}

// inside returns path as the world sees it while process leader lives.
func inside(leader int, path string) string {
	return filepath.Join("/proc", strconv.Itoa(leader), "root", path)
}
