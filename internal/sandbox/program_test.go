package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/sandbox"
	"fettle.dev/fettle/test/needs"
)

// hostile is the program that is kept in: it tries one thing, and says
// "escaped" when it worked.
func hostile(what string, args []string) int {
	err := errors.New("unknown attempt")
	if try := attempts()[what]; try != nil {
		err = try(args)
	}
	if err != nil {
		fmt.Println("held:", err)
		return 0
	}
	fmt.Println("escaped")
	return 0
}

func attempts() map[string]func([]string) error {
	read := func(a []string) error { _, err := os.ReadFile(a[0]); return err }
	list := func(a []string) error { _, err := os.ReadDir(a[0]); return err }
	write := func(a []string) error { return os.WriteFile(a[0], []byte("x"), 0o644) }
	return map[string]func([]string) error{
		"read": read, "list": list, "write": write,
		"dial": func(a []string) error {
			c, err := net.DialTimeout(a[0], a[1], time.Second)
			if err == nil {
				_, err = c.Write([]byte("x"))
			}
			return err
		},
		"listen":  func(a []string) error { _, err := net.Listen("unix", a[0]); return err },
		"mkdir":   func(a []string) error { return os.Mkdir(a[0], 0o755) },
		"remove":  func(a []string) error { return os.Remove(a[0]) },
		"mount":   func([]string) error { return unix.Mount("none", "/tmp", "tmpfs", 0, "") },
		"remount": func([]string) error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"chroot":  func([]string) error { return unix.Chroot("/usr") },
		"setuid":  func([]string) error { return syscall.Setuid(1) },
		"nested":  nested,
		"kill": func(a []string) error {
			pid, _ := strconv.Atoi(a[0])
			return syscall.Kill(pid, syscall.SIGKILL)
		},
		"hostname": func([]string) error { return unix.Sethostname([]byte("x")) },
		"memory": func([]string) error {
			b, err := unix.Mmap(-1, 0, 3<<30, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
			if err == nil {
				b[len(b)-1] = 1
			}
			return err
		},
		"endless": func([]string) error {
			for n := 0; ; n++ {
				runtime.KeepAlive(n)
			}
		},
		"output":      endlessOutput,
		"environment": environment,
		"daemon":      daemon,
		"forks":       forks,
	}
}

// nested makes another user namespace, in which it is root again, and mounts.
func nested([]string) error {
	c := exec.Command("/proc/self/exe")
	c.Path, c.Args = "/work/hostile", []string{"./hostile", "mount"}
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: 0, Size: 1}}}
	out, err := c.CombinedOutput()
	if err == nil && !strings.Contains(string(out), "escaped") {
		err = errors.New(string(out))
	}
	return err
}

func environment([]string) error {
	for _, e := range os.Environ() {
		if strings.HasPrefix(e, "SECRET") || strings.Contains(e, "/root") {
			return nil
		}
	}
	return fmt.Errorf("%v", os.Environ())
}

// daemon leaves a process behind that has a session of its own and holds the
// output open.
func daemon(args []string) error {
	c := exec.Command("/usr/bin/sleep", args[0])
	c.Stdout, c.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	return errors.New("left behind")
}

func forks([]string) error {
	for n := range 1000 {
		if err := exec.Command("/usr/bin/sleep", "1000").Start(); err != nil {
			return fmt.Errorf("ended at %d: %w", n, err)
		}
	}
	return nil
}

func endlessOutput([]string) error {
	block := make([]byte, 1<<20)
	for range 10 << 10 {
		if _, err := os.Stdout.Write(block); err != nil {
			return err
		}
	}
	return nil
}

// programDir makes the directories of a program, with the test binary as the program.
func programDir(t *testing.T) string {
	t.Helper()
	needs.Root(t)
	dir, err := os.MkdirTemp(sandbox.Place(), "fettle-program-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, d := range []string{"", "root", "work"} {
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, d), 0o755), os.Chmod(filepath.Join(dir, d), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	to, err := os.OpenFile(filepath.Join(dir, "work/hostile"), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, self); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestProgramPrints(t *testing.T) {
	dir := programDir(t)
	if err := os.WriteFile(filepath.Join(dir, "work/in"), []byte("input\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := sandbox.Run(context.Background(), "program", sandbox.Program{Dir: dir, Timeout: time.Minute,
		Argv: []string{"sh", "-c", "cat in - && pwd && id -u && echo oops >&2 && exit 3"}, Stdin: []byte("stdin\n")})
	if err != nil || string(res.Stdout) != "input\nstdin\n/work\n0\n" || res.Code != 3 || res.Stderr != "oops\n" {
		t.Errorf("%+v %v %s", res, err, res.Stdout)
	}
	for argv, code := range map[string]int{"no-such-program": 127, "./none": 126, "./in": 126} {
		res, err := sandbox.Run(context.Background(), "program",
			sandbox.Program{Dir: dir, Timeout: time.Minute, Argv: []string{argv}})
		if err != nil || res.Code != code || res.Stderr == "" {
			t.Errorf("%s: %+v %v", argv, res, err)
		}
	}
}

// A program in the sandbox cannot escape: all its attempts fail.
func TestProgramIsKeptIn(t *testing.T) {
	t.Setenv("SECRET", "x")
	dir := programDir(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	abstract, err := net.Listen("unix", "@fettle-"+filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, words := range []string{
		"read /etc/shadow", "read /etc/passwd", "read /etc/hostname", "read /proc/1/environ", "read /proc/self/mounts",
		"read /dev/kmsg",
		"read " + filepath.Join(dir, "socket"), "list /root", "list /home", "list /var", "list /run", "list /sys", "list /",
		"list " + dir,
		"write /work/x", "write /tmp/x", "write /usr/x", "write /x", "write /dev/shm/x", "write /var/tmp/x",
		"write /work/hostile",
		"mkdir /work/d", "mkdir /tmp/d", "remove /work/hostile", "listen /tmp/s", "listen /work/s",
		"dial tcp " + tcp.Addr().String(), "dial udp 192.0.2.1:53", "dial udp 127.0.0.1:53",
		"dial unix @fettle-" + filepath.Base(dir),
		"dial unix " + filepath.Join(dir, "socket"), "dial unix /run/dbus/system_bus_socket", "dial unix /dev/log",
		"dial tcp [::1]:22",
		"mount", "remount", "chroot", "setuid", "nested", "hostname", "memory", "environment", "forks",
		"kill -1", "kill " + strconv.Itoa(os.Getpid()),
	} {
		t.Run(words, func(t *testing.T) {
			res, err := sandbox.Run(context.Background(), "program", sandbox.Program{Dir: dir, Timeout: time.Minute,
				Argv: append([]string{"./hostile"}, strings.Fields(words)...)})
			if err != nil || !strings.HasPrefix(string(res.Stdout), "held: ") || res.Code != 0 {
				t.Errorf("%v %+v %s", err, res, res.Stdout)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "work/x")); err == nil {
		t.Error("something was written")
	}
}

func TestProgramEnds(t *testing.T) {
	dir := programDir(t)
	run := func(timeout time.Duration, words ...string) sandbox.Printed {
		t.Helper()
		res, err := sandbox.Run(context.Background(), "program",
			sandbox.Program{Dir: dir, Timeout: timeout, MaxOutput: 1 << 20, Argv: append([]string{"./hostile"}, words...)})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := run(time.Second, "endless"); !res.TimedOut || res.Signal != "killed" {
		t.Errorf("an endless loop: %+v", res)
	}
	if res := run(time.Minute, "output"); !res.TooLong || len(res.Stdout) > 1<<20 {
		t.Errorf("endless output: %v, %d bytes", res.TooLong, len(res.Stdout))
	}
	const odd = "1234.56789" // a unique number of seconds for sleep
	if res := run(time.Minute, "daemon", odd); !strings.Contains(string(res.Stdout), "left behind") {
		t.Errorf("a daemon: %+v %s", res, res.Stdout)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		if text, _ := os.ReadFile(f); strings.Contains(string(text), odd) {
			t.Errorf("%s is still there: %q", f, text)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sandbox.Run(ctx, "program", sandbox.Program{Dir: dir, Timeout: time.Minute,
		Argv: []string{"true"}}); err == nil {
		t.Error("a cancelled program runs")
	}
}
