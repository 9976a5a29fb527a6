package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
)

// envStage tells what a process is that the test binary started.
const envStage = "FETTLE_POWERCUT_STAGE"

const (
	stageTests = "tests" // process 1 of the namespaces, which runs the tests
	stageDisk  = "disk"  // serves a disk
)

// Main runs the tests of m in mount and process namespaces of their own and
// returns the exit code for os.Exit. Where that is impossible it runs them right
// here, and Unavailable tells why.
func Main(m *testing.M) int {
	stage := os.Getenv(envStage)
	os.Unsetenv(envStage)
	switch {
	case stage == stageDisk:
		return complain(1, serveDisk(os.Args[1]))
	case stage == stageTests:
		if err := ownMounts(); err != nil {
			return complain(1, err)
		}
		return m.Run()
	case Unavailable() != nil:
		return m.Run()
	}
	return supervise()
}

func complain(code int, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "powercut:", err)
	return code
}

// Unavailable tells why this machine can cut no power, nil when it can.
func Unavailable() error {
	if os.Geteuid() != 0 {
		return errors.New("it needs root, for mounts and loop devices")
	}
	for _, dev := range []string{"/dev/fuse", "/dev/loop-control"} {
		f, err := os.OpenFile(dev, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("it needs %s: %w", dev, err)
		}
		f.Close()
	}
	return nil
}

// supervise starts the tests and waits for them. The thread stays locked
// because the kernel kills them when the thread that started them ends.
func supervise() int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	temp, err := os.MkdirTemp("", "powercut-")
	if err != nil {
		return complain(1, err)
	}
	defer os.Remove(temp)
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), envStage+"="+stageTests, "TMPDIR="+temp)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return complain(1, fmt.Errorf("cannot make namespaces: %w", err))
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-signals:
			_ = cmd.Process.Kill()
		case <-ended:
		}
	}()
	err = cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return complain(1, err)
	}
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		return code
	}
	return 1
}

// ownMounts makes the mounts private, mounts /proc for the process namespace, and a file system in
// memory for temporary files.
func ownMounts() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot part from the mounts of the machine: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	if err := syscall.Mount("tmpfs", os.TempDir(), "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("cannot mount %s: %w", os.TempDir(), err)
	}
	return nil
}
