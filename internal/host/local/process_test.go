package local_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/image"
)

// childKey makes a test play its own child process.
const childKey = "FETTLE_TEST_CHILD"

// again is a command that runs the same test as a child with an argument.
func again(t *testing.T, arg string, prefix ...string) *exec.Cmd {
	t.Helper()
	argv := append(prefix, os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), childKey+"="+arg)
	return cmd
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestKilledWithUs: a command dies with the process that runs it.
func TestKilledWithUs(t *testing.T) {
	if file := os.Getenv(childKey); file != "" {
		h := open(t, "/", local.Options{})
		_, err := h.Run(t.Context(), host.Command{Argv: []string{"sh", "-c", `echo $$ > "$1"; exec sleep 1000`, "sh", file}})
		t.Fatalf("survived: %v", err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	cmd := again(t, file)
	must(t, cmd.Start())
	pid := 0
	await(t, "the command to start", func() bool {
		b, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
		return pid != 0 && bytes.HasSuffix(b, []byte("\n"))
	})
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	await(t, "the command to die", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || bytes.Contains(b, []byte(") Z "))
	})
}

// TestChroot runs this test's own binary inside of another root.
func TestChroot(t *testing.T) {
	if os.Getenv(childKey) != "" {
		names, err := filepath.Glob("/*")
		dir, _ := os.Getwd()
		fmt.Printf("sees %v in %s, %v\n", names, dir, err)
		return
	}
	h := open(t, t.TempDir(), local.Options{})
	_, err := h.Run(t.Context(), host.Command{Argv: []string{"prog"}})
	if err == nil || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("a program that another root lacks: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	must(t, h.Mkdir("/bin", 0o755))
	must(t, exec.Command("cp", os.Args[0], h.Root()+"/bin/prog").Run())
	libs, _ := exec.Command("ldd", os.Args[0]).Output() // it fails for a static binary
	for _, lib := range regexp.MustCompile(`/\S+`).FindAllString(string(libs), -1) {
		must(t, exec.Command("cp", "--parents", "-L", lib, h.Root()).Run())
	}
	res, err := h.Run(t.Context(), host.Command{
		Argv: []string{"prog", "-test.run=^TestChroot$"}, Dir: "/bin", Env: []string{childKey + "=1"},
	})
	must(t, err)
	if !bytes.Contains(res.Stdout, []byte("sees [/bin")) || !bytes.Contains(res.Stdout, []byte(" in /bin, <nil>")) ||
		bytes.Contains(res.Stdout, []byte("/etc")) {
		t.Errorf("got %s%s", res.Stdout, res.Stderr)
	}
}

// TestUmask: modes are exact with any umask of the caller.
func TestUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	h := open(t, t.TempDir(), local.Options{})
	must(t, h.Mkdir("/d", 0o2775))
	must(t, h.Mknod("/p", image.Fifo, 0o666, 0))
	for path, want := range map[string]uint32{"/d": 0o2775, "/p": 0o666} {
		if st, err := h.Lstat(path); st.Mode != want || err != nil {
			t.Errorf("%s has mode %o, %v", path, st.Mode, err)
		}
	}
}

// everyMutation does each mutating operation once.
func everyMutation(t *testing.T, h host.FS) {
	must(t, h.Mkdir("/d", 0o755))
	f, err := h.Create("/d/f")
	must(t, err)
	for range 2 {
		_, err = f.Write([]byte("content"))
		must(t, err)
	}
	must(t, f.Truncate(3))
	must(t, f.Chown(0, 0))
	must(t, f.Chmod(0o644))
	must(t, f.SetXattr("user.a", []byte("b")))
	must(t, f.RemoveXattr("user.a"))
	must(t, f.SetAttrs(0x40))
	must(t, f.SetTimes(1, 2))
	must(t, f.Sync())
	must(t, f.Close())
	n, err := h.OpenNode("/d")
	must(t, err)
	must(t, n.Chown(0, 0))
	must(t, n.Chmod(0o750))
	must(t, n.SetXattr("user.a", nil))
	must(t, n.RemoveXattr("user.a"))
	must(t, n.SetAttrs(0x40))
	must(t, n.SetTimes(1, 2))
	must(t, n.Close())
	f, err = h.OpenAppend("/d/log")
	must(t, err)
	must(t, f.Sync())
	must(t, f.Close())
	must(t, h.Symlink("x", "/l"))
	must(t, h.Link("/d/f", "/h"))
	must(t, h.Mknod("/p", image.Fifo, 0o600, 0))
	must(t, h.Rename("/h", "/i"))
	must(t, h.RenameNew("/i", "/j"))
	must(t, h.Remove("/j"))
	must(t, h.SyncDir("/d"))
	must(t, h.SyncFS("/d"))
}

const mutating = "mkdir,mkdirat,open,openat,openat2,creat,write,pwrite64,writev,truncate,ftruncate,fallocate," +
	"chown,fchown,lchown,fchownat,chmod,fchmod,fchmodat,?fchmodat2,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr," +
	"ioctl,utimensat,futimesat,fsync,fdatasync,syncfs,sync,symlink,symlinkat,link,linkat,mknod,mknodat,rename,renameat,renameat2,unlink,unlinkat,rmdir"

// TestNothingUncounted compares the system calls with the counted operations, so that fault tests
// cover every change of the host.
func TestNothingUncounted(t *testing.T) {
	if root := os.Getenv(childKey); root != "" {
		syscall.Umask(0)
		var seen fault.Recorder
		everyMutation(t, open(t, root, local.Options{Count: seen.Count}))
		must(t, os.WriteFile(root+".count", []byte(seen.Trace()), 0o600))
		return
	}
	dir := t.TempDir()
	root, out := filepath.Join(dir, "root"), filepath.Join(dir, "strace")
	must(t, os.Mkdir(root, 0o755))
	if b, err := again(t, root, "strace", "-f", "-qq", "-y", "-o", out, "-e",
		"trace="+mutating).CombinedOutput(); err != nil {
		t.Fatalf("cannot trace (is strace installed?): %v\n%s", err, b)
	}
	counted, err := os.ReadFile(root + ".count")
	must(t, err)
	calls := changes(t, out, root)
	if want := strings.Count(string(counted), "\n"); len(calls) != want || want < 20 {
		t.Errorf("%d system calls change something, %d operations were counted:\n%s\n%s", len(calls), want,
			strings.Join(calls, "\n"), counted)
	}
}

// wholeCalls returns one line for each call. strace splits a call in two lines if another thread makes
// a call meanwhile: "PID name(… <unfinished ...>" and "PID <... name resumed>…".
func wholeCalls(trace string) []string {
	var out []string
	begun := map[string]string{}
	for line := range strings.Lines(trace) {
		line = strings.TrimSpace(line)
		pid, _, _ := strings.Cut(line, " ")
		if start, ok := strings.CutSuffix(line, "<unfinished ...>"); ok {
			begun[pid] = start
			continue
		}
		if _, end, ok := strings.Cut(line, " resumed>"); ok && begun[pid] != "" {
			line = begun[pid] + end
			delete(begun, pid)
		}
		out = append(out, line)
	}
	return out
}

func TestWholeCalls(t *testing.T) {
	got := wholeCalls(
		"1 openat2(5, \"a\", {O_PATH} <unfinished ...>\n2 write(1) = 1\n1 <... openat2 resumed>)            = 6</root>\n")
	want := []string{"2 write(1) = 1", "1 openat2(5, \"a\", {O_PATH} )            = 6</root>"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// changes are the traced calls that succeeded in changing the root.
func changes(t *testing.T, trace, root string) []string {
	t.Helper()
	b, err := os.ReadFile(trace)
	must(t, err)
	opens := regexp.MustCompile(`^\d+ +open`)
	ioctl := regexp.MustCompile(`^\d+ +ioctl`)
	var out []string
	for _, line := range wholeCalls(string(b)) {
		switch {
		case !strings.Contains(line, root) && !strings.Contains(line, `"/proc/self/fd/`),
			strings.Contains(line, root+".count"),
			strings.Contains(line, " = -1 "),
			opens.MatchString(line) && !strings.Contains(line, "O_CREAT"),
			ioctl.MatchString(line) && !strings.Contains(line, "SETFLAGS"):
			continue
		}
		out = append(out, line)
	}
	return out
}
