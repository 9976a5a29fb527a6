package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Program is an untrusted program that can only read its input and print. It has access to the
// files of the system in /usr and to the directory Dir as /work, its working directory. It has no
// other access: no network, no other process, no writable directory.
type Program struct {
	// Dir contains a directory "work" with the program's files, readable for all users, and an
	// empty directory "root". The caller creates it in Place, and removes it.
	Dir string
	// Argv is the program, a path in the work directory or a name in /usr, and its arguments.
	Argv  []string
	Stdin []byte
	// Timeout ends it with all that it has started. Required.
	Timeout time.Duration
	// Memory of each of its processes in bytes; 0 is 1 GiB.
	Memory int64
	// MaxOutput is how much it may print in bytes; 0 is 16 MiB.
	MaxOutput int
}

// Printed is the result of a program.
type Printed struct {
	Stdout []byte
	Stderr string // the first 16 KiB
	Code   int    // the exit code; -1 after a signal
	Signal string
	// TimedOut and TooLong are the reasons if it was killed.
	TimedOut, TooLong bool
}

// ErrNoWalls is in the chain of errors on hosts that cannot confine a program. It is not run there.
var ErrNoWalls = errors.New("this host cannot isolate programs")

const (
	programMemory = 1 << 30
	programOutput = 16 << 20
	programFiles  = 256
	programProcs  = 128
)

// Run runs a program through this binary, called with a word, which then calls EnterProgram. It
// returns when all processes of the program have ended.
func Run(ctx context.Context, word string, p Program) (Printed, error) {
	if len(p.Argv) == 0 || p.Timeout <= 0 {
		return Printed{}, errors.New("cannot run a program without a name and a time limit")
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	cmd := p.command(ctx, word)
	out := &most{limit: orDefault(p.MaxOutput, programOutput), over: cancel}
	var stderr head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p.Stdin), out, &stderr
	if err := cmd.Start(); err != nil {
		return Printed{}, fmt.Errorf("%w: %w", ErrNoWalls, err)
	}
	err := cmd.Wait()
	res := Printed{Stdout: out.b, Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode(), TooLong: out.cut}
	res.TimedOut = !out.cut && errors.Is(ctx.Err(), context.DeadlineExceeded)
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		res.Signal = ws.Signal().String()
	}
	switch {
	case res.Code == wallsExit && bytes.HasPrefix([]byte(res.Stderr), []byte(wallsSay)):
		return Printed{}, fmt.Errorf("%w: %s", ErrNoWalls, res.Stderr[len(wallsSay):])
	case !res.TooLong && !res.TimedOut && ctx.Err() != nil:
		return Printed{}, context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !res.TimedOut && !res.TooLong {
		return Printed{}, err
	}
	return res, nil
}

// Place returns a directory for the directories of programs. If programs run as `nobody`, they must
// be able to reach it. "" is the default directory.
func Place() string {
	if os.Geteuid() == 0 {
		return "/tmp"
	}
	return ""
}

// command runs this binary in separate namespaces. It is the first process there, so that the
// kernel kills all other processes with it. Outside it runs as `nobody` or as the current user, and
// only inside as root.
func (p Program) command(ctx context.Context, word string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	limits := []string{strconv.FormatInt(int64(orDefault(int(p.Memory), programMemory)), 10),
		strconv.FormatInt(int64(p.Timeout/time.Second)+1, 10), filepath.Clean(p.Dir)}
	cmd.Args = slices.Concat([]string{"fettle", word}, limits, p.Argv)
	cmd.Dir = "/"
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.WaitDelay = time.Second
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = nobody, nobody
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}},
		Credential:  &syscall.Credential{NoSetGroups: true},
	}
	return cmd
}

func orDefault(n, def int) int {
	if n <= 0 {
		return def
	}
	return n
}

// most keeps the data written to it up to a limit, and calls over at the first byte beyond it.
type most struct {
	limit int
	over  func()
	b     []byte
	cut   bool
}

func (m *most) Write(p []byte) (int, error) {
	if m.cut || len(m.b)+len(p) > m.limit {
		m.cut = true
		m.over()
		return 0, errors.New("too much")
	}
	m.b = append(m.b, p...)
	return len(p), nil
}
