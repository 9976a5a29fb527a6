package fault_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/hosttest"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/host/mem"
)

// TestNoFault: a plan that breaks nothing changes nothing.
func TestNoFault(t *testing.T) {
	hosttest.Run(t, hosttest.Traits{Owners: true}, func(*testing.T) host.Host {
		return fault.Wrap(mem.New(mem.Options{}), &fault.Plan{})
	})
}

// work is 8 operations.
func work(h host.FS) error {
	if err := h.Mkdir("/d", 0o755); err != nil {
		return err
	}
	f, err := h.Create("/d/temp")
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("content"))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := h.Rename("/d/temp", "/d/f"); err != nil {
		return err
	}
	if err := h.SyncDir("/d"); err != nil {
		return err
	}
	return h.SyncDir("/")
}

const workOps = 8

func TestEveryOperation(t *testing.T) {
	for n := 1; ; n++ {
		plan := &fault.Plan{At: n, Err: syscall.ENOSPC}
		err := work(fault.Wrap(mem.New(mem.Options{}), plan))
		if !plan.Hit() {
			if n != workOps+1 || err != nil {
				t.Errorf("ended at %d with %v", n, err)
			}
			return
		}
		if !errors.Is(err, syscall.ENOSPC) || !host.IsNoSpace(err) {
			t.Errorf("operation %d: %v", n, err)
		}
	}
}

func TestStickyAndOnly(t *testing.T) {
	plan := &fault.Plan{At: 2, Only: host.OpMkdir, Err: syscall.EIO, Sticky: true}
	h := fault.Wrap(mem.New(mem.Options{}), plan)
	var got []bool
	for i := range 4 {
		got = append(got, h.Mkdir(fmt.Sprintf("/d%d", i), 0o755) == nil)
	}
	if fmt.Sprint(got) != "[true false false false]" || h.Symlink("x", "/l") != nil || plan.Seen() != 4 {
		t.Errorf("sticky fault: %v, %d seen", got, plan.Seen())
	}
}

func TestShort(t *testing.T) {
	m := mem.New(mem.Options{})
	f, err := fault.Wrap(m, &fault.Plan{At: 2, Err: syscall.ENOSPC, Short: true}).Create("/f")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Write([]byte("123456")); n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a short write gave %d, %v", n, err)
	}
	if st, err := m.Lstat("/f"); st.Size != 3 || err != nil {
		t.Errorf("a short write left %d bytes, %v", st.Size, err)
	}
}

func TestCrash(t *testing.T) {
	m := mem.New(mem.Options{})
	h := fault.Wrap(m, &fault.Plan{At: 6, Crash: true})
	if err := work(h); !errors.Is(err, fault.ErrCrashed) {
		t.Errorf("work gave %v", err)
	}
	if _, err := h.Lstat("/"); !errors.Is(err, fault.ErrCrashed) {
		t.Errorf("a read after the crash: %v", err)
	}
	if err := h.Mkdir("/x", 0o755); !errors.Is(err, fault.ErrCrashed) {
		t.Errorf("a write after the crash: %v", err)
	}
	if there, _ := host.Exists(m, "/d/f"); there {
		t.Error("the operation at which it crashed was done")
	}
}

// TestRecorder: drivers count alike, inside and around.
func TestRecorder(t *testing.T) {
	want := "mkdir /d\ncreate /d/temp\nwrite /d/temp\nchmod /d/temp\nsync /d/temp\nrename /d/f\nsyncdir /d\nsyncdir /\n"
	var onMem, onLocal fault.Recorder
	l, err := local.Open(t.TempDir(), local.Options{Count: onLocal.Count})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := errors.Join(work(mem.New(mem.Options{Count: onMem.Count})), work(l)); err != nil {
		t.Fatal(err)
	}
	if onMem.Trace() != want || onLocal.Trace() != want || onMem.N() != workOps {
		t.Errorf("mem:\n%slocal:\n%swant:\n%s", onMem.Trace(), onLocal.Trace(), want)
	}
}

// TestKillAt runs this test again as another process, which kills itself at
// the rename.
func TestKillAt(t *testing.T) {
	const key = "FETTLE_TEST_KILL_ROOT"
	if root := os.Getenv(key); root != "" {
		h, err := local.Open(root, local.Options{Count: fault.KillAt(6)})
		if err == nil {
			err = work(h)
		}
		t.Fatalf("survived: %v", err)
	}
	root := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillAt$")
	cmd.Env = append(os.Environ(), key+"="+root)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL ||
		bytes.Contains(out, []byte("survived")) {
		t.Fatalf("the process ended with %v: %s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(root, "d", "temp")); string(b) != "content" || err != nil {
		t.Errorf("what was done before is %q, %v", b, err)
	}
}

func Example() {
	plan := &fault.Plan{At: 2, Err: syscall.ENOSPC}
	h := fault.Wrap(mem.New(mem.Options{}), plan)
	fmt.Println(h.Mkdir("/a", 0o755), h.Mkdir("/b", 0o755), h.Mkdir("/c", 0o755))
	// Output: <nil> no space left on device <nil>
}

// TestReadsFail: a Plan may strike at what only looks, too.
func TestReadsFail(t *testing.T) {
	plan := &fault.Plan{At: 2, Err: syscall.EMFILE, Reads: true}
	h := fault.Wrap(mem.New(mem.Options{}), plan)
	_, first := h.Lstat("/")
	_, second := h.ReadDir("/")
	_, third := h.ReadDir("/")
	if first != nil || !errors.Is(second, syscall.EMFILE) || third != nil || plan.Seen() != 3 {
		t.Errorf("%v, %v, %v of %d", first, second, third, plan.Seen())
	}
}
