package lock

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/test/gobuild"
)

// Exit codes that scripts depend on.
const (
	success    = 0
	failed     = 1
	changes    = 2
	locked     = 4
	stale      = 5
	rolledBack = 6
)

// program builds fettle once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fettle-lock-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "fettle")
	return bin, gobuild.Program(bin, gobuild.Fettle, "-tags", "fettlefault")
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// machine is a directory with a root, a state directory, a repository and lists.
type machine struct {
	t    testing.TB
	bin  string
	dir  string
	root string // of the machine; "/" for what runs commands
	work string // what is managed on "/"
}

// newMachine is an empty machine in memory where there is some: thousands of
// syncs cost nothing there.
func newMachine(t testing.TB) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fettle-lock-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return machineIn(t, dir)
}

func machineIn(t testing.TB, dir string) *machine {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, bin: bin, dir: dir, root: filepath.Join(dir, "root")}
	m.put("root/srv/theirs", "theirs")
	m.put("root/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
	m.put("root/etc/group", "root:x:0:\n")
	return m
}

// copy is the same machine in a directory of its own.
func (m *machine) copy(t testing.TB) *machine {
	t.Helper()
	n := newMachine(t)
	_ = os.Remove(m.path("state/ballast")) // it is made again, and slow to copy
	if out, err := exec.Command("cp", "-a", m.dir+"/.", n.dir).CombinedOutput(); err != nil {
		t.Fatalf("cannot copy: %v\n%s", err, out)
	}
	if m.root == "/" {
		n.root = "/"
	}
	return n
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

func (m *machine) put(name, text string) {
	m.t.Helper()
	p := m.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) has(name string) bool {
	_, err := os.Lstat(m.path(name))
	return err == nil
}

// argv is a whole command line of fettle for this machine, with the flags that the
// command takes.
func (m *machine) argv(args ...string) []string {
	place, repo := []string{"--root", m.root, "--state", m.path("state")}, []string{"-C", m.path("repo")}
	switch {
	case args[0] == "version" || slices.Equal(args[:min(2, len(args))], []string{"steps", "diff"}):
		return slices.Concat([]string{m.bin}, args)
	case args[0] == "watch-confirmation":
		return slices.Concat([]string{m.bin}, args, place)
	}
	return slices.Concat([]string{m.bin}, args, place, repo)
}

// process is a fettle that was started.
type process struct {
	*exec.Cmd
	m    *machine
	out  text
	done chan struct{}
}

// text is what a process has said so far.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(b)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// begin starts fettle with more in its environment. It is killed with the test.
func (m *machine) begin(env []string, args ...string) *process {
	m.t.Helper()
	p := m.prepare(args...)
	p.Env = append(os.Environ(), env...)
	p.launch()
	return p
}

// prepare is a fettle that is not started yet.
func (m *machine) prepare(args ...string) *process {
	argv := m.argv(args...)
	p := &process{Cmd: exec.Command(argv[0], argv[1:]...), m: m, done: make(chan struct{})}
	p.Stdout, p.Stderr = &p.out, &p.out
	return p
}

func (p *process) launch() {
	p.m.t.Helper()
	p.WaitDelay = 5 * time.Second // a child of a child may hold the streams
	if err := p.Start(); err != nil {
		p.m.t.Fatal(err)
	}
	p.m.t.Cleanup(func() { _ = p.Process.Kill(); <-p.done })
	go func() {
		_ = p.Wait()
		close(p.done)
	}()
}

// stopAt makes a fettle stop by itself before its n-th mutating operation.
func stopAt(n int) []string { return []string{"FETTLE_STOP=" + strconv.Itoa(n)} }

// killAt makes a fettle kill itself before its n-th mutating operation.
func killAt(n int) []string { return []string{"FETTLE_KILL=" + strconv.Itoa(n)} }

// stopped waits until the process has stopped; false when it ended instead.
func (p *process) stopped() bool {
	p.m.t.Helper()
	over := false
	p.m.await("the process to stop", func() bool {
		over = p.over()
		return over || stateOf(p.Process.Pid) == "T"
	})
	return !over
}

func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) {
	p.m.t.Helper()
	if err := p.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.m.t.Fatal(err)
	}
}

// end waits and gives the exit code, -1 for a signal. A fettle that hangs fails
// the test.
func (p *process) end() int {
	p.m.t.Helper()
	p.m.await("the end of "+strings.Join(p.Args[1:], " "), p.over)
	return p.ProcessState.ExitCode()
}

// endedBy is the signal that ended the process, 0 for an exit.
func (p *process) endedBy() syscall.Signal {
	if ws, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return 0
}

// fettle runs a command to its end and demands its exit code.
func (m *machine) fettle(code int, args ...string) string {
	m.t.Helper()
	p := m.begin(nil, args...)
	if got := p.end(); got != code {
		m.t.Fatalf("fettle %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, p.out.String())
	}
	return p.out.String()
}

// says demands texts.
func (m *machine) says(out string, texts ...string) {
	m.t.Helper()
	for _, want := range texts {
		if !strings.Contains(out, want) {
			m.t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// limit is far above what anything here takes.
const limit = 90 * time.Second

func (m *machine) await(what string, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// stateOf is the letter of a process's state, "" when there is none.
func stateOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return f[0]
}

// alive lists the processes that have text in their command line, but this test
// and what it started itself.
func alive(needle string) []int {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var out []int
	for _, p := range found {
		b, err := os.ReadFile(p)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		if err == nil && bytes.Contains(b, []byte(needle)) && pid != os.Getpid() && stateOf(pid) != "Z" {
			out = append(out, pid)
		}
	}
	return out
}
