package hostile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/sample"
)

// long asks for all inputs instead of a sample of every kind.
func long() bool { return os.Getenv("FETTLE_LONG") != "" }

// pick is how many inputs a campaign has.
func pick(short, all int) int {
	if long() {
		return all
	}
	return short
}

// numbers are the numbers of the inputs that the sample has.
func numbers(short, all int) []int { return sample.Numbers(pick(short, all)) }

// The test binary is also a compiler's child and a hostile user.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileWord:
			if err := limited.Child(os.Args[2:], os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case hammerWord:
			hammer(os.Args[2], os.Args[3])
		}
	}
	os.Exit(run(m))
}

const (
	compileWord = "compile-child"
	hammerWord  = "hammer"
)

func run(m *testing.M) int {
	defer func() {
		if dir, err := built(); err == nil {
			_ = os.RemoveAll(filepath.Dir(dir))
		}
	}()
	return m.Run()
}

// built is the real program, built once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fettle-hostile-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle); err != nil {
		return "", err
	}
	return bin, os.Chmod(dir, 0o755)
})

func fettle(t testing.TB) string {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// ended is how a program ended, and what it did meanwhile.
type ended struct {
	code    int
	out     string // both streams
	memory  int64  // the most that it or one of its children held, in bytes
	strange []string
}

// command runs argv with an environment of its own and kills it after a
// minute. The code is -1 when it was killed.
func command(t testing.TB, env []string, dir string, argv ...string) ended {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	e := ended{code: cmd.ProcessState.ExitCode(), out: out.String()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.memory = usage.Maxrss << 10
	}
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file and the directories above it.
func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), mode))
	must(t, os.Chmod(path, mode))
}

// terminal finds what a terminal would act upon in what fettle prints.
func terminal(out string) bool {
	return strings.ContainsFunc(out, func(r rune) bool {
		return r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 &&
			r <= 0x2069
	})
}
