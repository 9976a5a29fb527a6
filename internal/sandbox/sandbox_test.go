package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/sandbox"
)

// The test binary is its own child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "probe" {
		os.Exit(probe(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "program" {
		code, err := sandbox.EnterProgram(os.Args[2:])
		fmt.Fprint(os.Stderr, err)
		os.Exit(code)
	}
	if os.Args[0] == "./hostile" {
		os.Exit(hostile(os.Args[1], os.Args[2:]))
	}
	os.Exit(m.Run())
}

// probe runs the operation in its input, and prints the result.
func probe(args []string) int {
	in, err := sandbox.Enter(args)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	what, _ := io.ReadAll(os.Stdin)
	in.Note("before " + string(what))
	err = nil
	switch string(what) {
	case "read":
		_, err = os.ReadFile("/etc/passwd")
	case "write":
		err = os.WriteFile("/tmp/fettle-sandbox-probe", nil, 0o644)
	case "dial":
		_, err = net.DialTimeout("tcp", "127.0.0.1:22", time.Second)
	case "udp":
		var c net.Conn
		if c, err = net.Dial("udp", "192.0.2.1:53"); err == nil {
			_, err = c.Write([]byte("x"))
		}
	case "start":
		err = exec.Command("/bin/true").Run()
	case "uid":
		err = fmt.Errorf("uid %d", os.Getuid())
	case "environment":
		err = fmt.Errorf("%q", os.Environ())
	case "memory":
		var all [][]byte
		for range 1000 {
			all = append(all, make([]byte, 64<<20))
		}
		fmt.Println(len(all))
	case "recurse":
		fmt.Println(recurse(1))
	case "spin":
		for i := 0; ; i++ {
			_ = i
		}
	}
	fmt.Println(err)
	return 0
}

func recurse(n int) int {
	if n < 0 { // it never is
		return 0
	}
	return n + recurse(n+1)
}

func run(t *testing.T, l sandbox.Limits, what string) (string, sandbox.End) {
	t.Helper()
	c, err := sandbox.Start(l, "probe")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c.In, what); err != nil {
		t.Fatal(err)
	}
	c.In.Close()
	out, _ := io.ReadAll(c.Out)
	return strings.TrimSpace(string(out)), c.End()
}

// Each wall holds: all attempts fail on this kernel.
func TestWalls(t *testing.T) {
	walls := strings.Join(sandbox.Walls(sandbox.Limits{}), "; ")
	for _, what := range []string{"read", "write", "dial", "udp", "start"} {
		if what == "udp" && !strings.Contains(walls, "no network;") || what != "udp" && !strings.Contains(walls, "no files") {
			t.Logf("%s is not walled off on this machine: %s", what, walls)
			continue
		}
		out, end := run(t, sandbox.Limits{}, what)
		if end.Code != 0 || out == "" || out == "<nil>" {
			t.Errorf("%s goes through: %q %+v", what, out, end)
		}
		if end.Note != "before "+what {
			t.Errorf("the note is %q", end.Note)
		}
	}
}

func TestNothingInherited(t *testing.T) {
	t.Setenv("SECRET", "x")
	if out, _ := run(t, sandbox.Limits{}, "environment"); out != `["GOMAXPROCS=2"]` {
		t.Errorf("the environment is %s", out)
	}
	if out, _ := run(t, sandbox.Limits{}, "uid"); os.Getuid() == 0 && out != "uid 65534" {
		t.Errorf("root's child has %s", out)
	}
}

func TestMemory(t *testing.T) {
	out, end := run(t, sandbox.Limits{Memory: 200 << 20}, "memory")
	if !end.OutOfMemory() || end.OutOfStack() {
		t.Errorf("%s %+v", out, end)
	}
	if end.Note != "before memory" {
		t.Errorf("the note is %q", end.Note)
	}
}

// An endless recursion is distinguished from a lack of memory, except with the race detector, whose
// own memory ends first.
func TestStack(t *testing.T) {
	out, end := run(t, sandbox.Limits{Memory: 400 << 20}, "recurse")
	detector := strings.Contains(end.Stderr, "ThreadSanitizer") || strings.Contains(end.Stderr, "race mode")
	if !end.OutOfStack() && !detector {
		t.Errorf("%s %.300s", out, end.Stderr)
	}
}

func TestCPU(t *testing.T) {
	_, end := run(t, sandbox.Limits{CPU: time.Second}, "spin")
	if !end.Killed || end.CPU < 500*time.Millisecond {
		t.Errorf("%+v", end)
	}
}

func TestKill(t *testing.T) {
	c, err := sandbox.Start(sandbox.Limits{}, "probe")
	if err != nil {
		t.Fatal(err)
	}
	c.Kill()
	c.Kill()
	if end := c.End(); !end.Killed || end != c.End() {
		t.Errorf("%+v", end)
	}
}
