package fire

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// envTracer makes the test binary the tracer: NUMBER WHO LOG COMMAND…. When the
// command ends it writes the exit code to descriptor 3, and goes on until the
// last process that the command left has ended.
const envTracer = "FETTLE_FIRE_TRACER"

// victim is who is killed at a point.
type victim string

const (
	everybody  victim = "everybody" // as when the power of all processes ends
	onlyFettle victim = "fettle"    // what it started dies with it, or goes on
	onlyApt    victim = "apt-get"   // and what it started
	onlyDpkg   victim = "dpkg"      // and what it started
	onlyItself victim = "itself"    // whatever made the call
)

// task is one traced process or thread.
type task struct {
	pid     int
	parent  *task
	program string
	watched bool // its calls are counted
}

// tracer follows a command and all that it starts.
type tracer struct {
	at     int // the point at which to kill, 0 for never
	who    victim
	log    *bufio.Writer
	calls  map[uint64]call
	tasks  map[int]*task
	early  map[int]bool // stopped before the fork that made them was reported
	count  int
	killed bool
	root   int
}

// tracerMain runs a command to the end of all its processes.
func tracerMain(args []string) int {
	runtime.LockOSThread() // the kernel takes commands about a process from the thread that started it
	os.Unsetenv(envTracer)
	at, err := strconv.Atoi(args[0])
	if err == nil {
		var f *os.File
		if f, err = os.Create(args[2]); err == nil {
			t := &tracer{at: at, who: victim(args[1]), log: bufio.NewWriter(f), calls: calls(), tasks: map[int]*task{},
				early: map[int]bool{}}
			err = errors.Join(t.run(args[3:]), f.Close())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracer:", err)
		return 1
	}
	return 0
}

func (t *tracer) run(argv []string) error {
	cmd := exec.Command("/proc/self/exe", argv...)
	cmd.Env = append(os.Environ(), envFiltered+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.root = cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.root, &status, 0, nil); err != nil {
		return err
	}
	t.tasks[t.root] = &task{pid: t.root}
	if err := unix.PtraceSetOptions(t.root, unix.PTRACE_O_TRACESECCOMP|unix.PTRACE_O_TRACEFORK|unix.PTRACE_O_TRACEVFORK|
		unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEEXEC); err != nil {
		return err
	}
	t.resume(t.tasks[t.root], 0)
	for {
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECHILD):
			return nil
		case err != nil:
			return err
		}
		if err := t.report(pid, status); err != nil {
			return err
		}
	}
}

// report handles one report of the kernel.
func (t *tracer) report(pid int, status unix.WaitStatus) error {
	k := t.tasks[pid]
	switch {
	case status.Exited() || status.Signaled():
		delete(t.tasks, pid)
		delete(t.early, pid)
		t.orphans()
		if pid == t.root {
			return t.tell(status.ExitStatus())
		}
	case k == nil:
		t.early[pid] = true
		t.orphans()
	case status.StopSignal() == unix.SIGTRAP && status.TrapCause() > 0:
		t.event(k, status.TrapCause())
		t.resume(k, 0)
	case status.StopSignal() == unix.SIGSTOP: // a new one begins so
		t.resume(k, 0)
	default:
		t.resume(k, int(status.StopSignal()))
	}
	return nil
}

// tell hands over the exit code, -1 after a signal, and lets go of the streams.
func (t *tracer) tell(code int) error {
	err := t.log.Flush()
	done := os.NewFile(3, "done")
	_, werr := fmt.Fprintln(done, code)
	return errors.Join(err, werr, done.Close(), os.Stdout.Close(), os.Stderr.Close())
}

func (t *tracer) resume(k *task, signal int) {
	_ = unix.PtraceCont(k.pid, signal) // who is gone by now is reported as such
}

func (t *tracer) event(k *task, cause int) {
	switch cause {
	case unix.PTRACE_EVENT_SECCOMP:
		t.called(k)
		return
	case unix.PTRACE_EVENT_EXEC:
		k.program = program(k.pid)
		k.watched = watched(k)
		return
	}
	msg, err := unix.PtraceGetEventMsg(k.pid)
	if err != nil {
		return
	}
	child := &task{pid: int(msg), parent: k, program: k.program, watched: k.watched}
	t.tasks[child.pid] = child
	if t.early[child.pid] {
		delete(t.early, child.pid)
		t.resume(child, 0)
	}
}

// watched tells whether what a process does is part of a transaction: apt-get
// when it is one, dpkg, and what these start.
func watched(k *task) bool {
	if k.parent != nil && k.parent.watched {
		return true
	}
	switch k.program {
	case "dpkg":
		return true
	case "apt-get":
		args := arguments(k.pid)
		return slices.Contains(args, "install") && !slices.Contains(args, "--simulate")
	}
	return false
}

// called counts a call that changes something, and kills at the wanted one.
func (t *tracer) called(k *task) {
	if !k.watched || t.killed {
		return
	}
	nr, args, ok := entered(k.pid)
	if !ok {
		return
	}
	c, ok := t.calls[nr]
	if !ok {
		return
	}
	what := c.describe(k.pid, args)
	if what == "" {
		return
	}
	t.count++
	if t.at == 0 || t.at == t.count {
		fmt.Fprintf(t.log, "%d %s %s\n", t.count, k.program, what)
	}
	if t.at == t.count {
		t.killed = true
		t.kill(k)
	}
}

// syscallInfo is the kernel's struct ptrace_syscall_info, of a filtered call.
type syscallInfo struct {
	op     uint8
	_      [3]byte
	arch   uint32
	ip, sp uint64
	nr     uint64
	args   [6]uint64
	rest   [4]uint64
}

const (
	getSyscallInfo = 0x420e // PTRACE_GET_SYSCALL_INFO
	filteredCall   = 3      // PTRACE_SYSCALL_INFO_SECCOMP
)

// entered reads the call before which a process is stopped.
func entered(pid int) (nr uint64, args [6]uint64, ok bool) {
	var info syscallInfo
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(pid), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	return info.nr, info.args, errno == 0 && info.op == filteredCall
}

// kill ends the victims of a call by k. The call itself is not carried out when
// k is one of them.
func (t *tracer) kill(k *task) {
	if t.who == onlyItself {
		_ = unix.Kill(k.pid, unix.SIGKILL)
		return
	}
	top := t.topmost(k, string(t.who))
	for _, one := range t.tasks {
		if t.who == everybody || one.program == "fettle" && t.who == onlyFettle || t.who != onlyFettle && one.below(top) {
			_ = unix.Kill(one.pid, unix.SIGKILL)
		}
	}
}

// orphans ends those whose maker was killed before it could report them: nobody
// else would let them go on. All victims of a kill are orphans before long, and
// what an orphan would have done belongs to its maker.
func (t *tracer) orphans() {
	for pid := range t.early {
		if t.killed && (t.who == everybody || t.tasks[maker(pid)] == nil) {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// topmost is the highest ancestor that runs a program; where there is none, the
// highest that is part of the transaction.
func (t *tracer) topmost(k *task, name string) *task {
	top, of := k, (*task)(nil)
	for a := k; a != nil; a = a.parent {
		if a.watched {
			top = a
		}
		if a.program == name {
			of = a
		}
	}
	if of != nil {
		return of
	}
	return top
}

func (k *task) below(top *task) bool {
	for ; k != nil; k = k.parent {
		if k == top {
			return true
		}
	}
	return false
}
