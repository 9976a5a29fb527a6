package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/test/needs"
)

// TestSocketOfRoot: other users cannot open the socket. If its mode lets them, their connections
// are closed, and root's are served.
func TestSocketOfRoot(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	socket := filepath.Join(dir, "hub.sock")
	l, err := listenForRoot(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("served"))
			_ = c.Close()
		}
	}()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := dialedBy(t, socket, 4242); !strings.Contains(got, "permission denied") {
		t.Errorf("another user: %s", got)
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := dialedBy(t, socket, 4242); !strings.Contains(got, `got ""`) {
		t.Errorf("another user at an open socket: %s", got)
	}
	if got := dialedBy(t, socket, 0); !strings.Contains(got, `got "served"`) {
		t.Errorf("root: %s", got)
	}
}

// dialedBy connects to the socket as a user, and returns the answer or the error as text.
func dialedBy(t *testing.T, socket string, uid uintptr) string {
	t.Helper()
	got := make(chan string)
	go func() {
		runtime.LockOSThread() // this thread alone becomes the user, and ends with the goroutine
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); errno != 0 {
			got <- errno.Error()
			return
		}
		c, err := net.Dial("unix", socket)
		if err != nil {
			got <- err.Error()
			return
		}
		defer c.Close()
		text, _ := io.ReadAll(c)
		got <- fmt.Sprintf("got %q", text)
	}()
	return <-got
}
