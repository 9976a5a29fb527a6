package hosts

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

// The environment variables that carry a test binary through its stages. The
// world's directory stays set for the tests, the stage is removed at once.
const (
	envStage       = "FETTLE_HOSTS_STAGE"       // the role of this process: see Main
	envWorld       = "FETTLE_HOSTS_WORLD"       // the world's directory
	envUnavailable = "FETTLE_HOSTS_UNAVAILABLE" // why there is no world
)

const (
	stageInit  = "init"  // process 1 of the world
	stageTests = "tests" // the tests, child of process 1
	stageBoot  = "boot"  // about to become systemd-nspawn
)

// Main runs the tests of m inside a world and returns the exit code for
// os.Exit. It starts the test binary again in new namespaces; where that is
// impossible it runs the tests right here, and NewWorld and Base skip (or
// fail, see the package comment) with the reason.
//
// Main builds the base images of the default release and of the given ones if the cache
// lacks them, because the world has no network.
func Main(m *testing.M, releases ...Release) int {
	stage := os.Getenv(envStage)
	os.Unsetenv(envStage)
	switch stage {
	case stageInit:
		return report(worldInit())
	case stageTests:
		return m.Run()
	case stageBoot:
		return report(1, enterAndExec(os.Args[1], os.Args[2:]))
	}
	if err := preflight(); err != nil {
		os.Setenv(envUnavailable, err.Error())
		return m.Run()
	}
	code, err := runWorld(append(releases, DefaultRelease()))
	var unavailable unavailableError
	if errors.As(err, &unavailable) {
		os.Setenv(envUnavailable, err.Error())
		return m.Run()
	}
	return report(code, err)
}

// report prints err, if any, and returns the exit code.
func report(code int, err error) int {
	if err == nil {
		return code
	}
	fmt.Fprintln(os.Stderr, "hosts:", err)
	return 1
}

// unavailableError says why this machine cannot have a world now.
type unavailableError struct{ err error }

func (e unavailableError) Error() string { return e.err.Error() }
func (e unavailableError) Unwrap() error { return e.err }

// runWorld prepares base images and directory, runs the world and removes what is
// left of it. It returns the exit code of the tests.
func runWorld(releases []Release) (int, error) {
	if err := ensureBases(releases); err != nil {
		return 0, unavailableError{err}
	}
	c, err := newCell()
	if err != nil {
		return 0, unavailableError{err}
	}
	defer c.close()
	return superviseWorld(c)
}

// superviseWorld starts process 1 of the world and waits for it. The thread
// stays locked because the kernel kills the world when the thread that started
// it ends.
func superviseWorld(c *cell) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), envStage+"="+stageInit, envWorld+"="+c.dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 0, unavailableError{fmt.Errorf("cannot create the namespaces of a world: %w", err)}
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cmd.Process.Kill()
		case <-done:
		}
	}()
	err := cmd.Wait()
	close(done)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("cannot run the world: %w", err)
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
