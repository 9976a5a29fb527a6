package bus_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// memoryEnv is the file with the seat of a hub that only listens, and prints its memory.
const memoryEnv = "FETTLE_TEST_BUS_MEMORY"

func runMemory(file string) int {
	var s seat
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	conf, err := s.conf()
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	srv, err := bus.Start(context.Background(), bus.Config{Dir: s.Dir, Listen: s.Listen, TLS: conf, Identify: identify})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(srv.Address())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		for range 4 { // each collection halves the stacks
			debug.FreeOSMemory()
		}
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			fmt.Println("error", err)
			return 1
		}
		_, after, _ := strings.Cut(string(status), "VmRSS:")
		fmt.Println(len(srv.Exchange().Connected()), strings.Fields(after)[0])
	}
	return 0
}

// BenchmarkConnections measures the memory of a hub for an idle connection, in its own process,
// with TLS.
func BenchmarkConnections(b *testing.B) {
	for b.Loop() {
		connections(b, 2000)
	}
}

func connections(t *testing.B, links int) {
	a := newAuthority(t)
	s := a.seats(t, 1)[0]
	file := filepath.Join(t.TempDir(), "seat")
	b, err := json.Marshal(s)
	if err := errors.Join(err, os.WriteFile(file, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), memoryEnv+"="+file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}()
	in := bufio.NewScanner(stdout)
	in.Scan()
	address := in.Text()
	measure := func() (connected, kilobytes int) {
		t.Helper()
		_, _ = fmt.Fprintln(stdin)
		if !in.Scan() {
			t.Fatal("the hub ended")
		}
		if _, err := fmt.Sscan(in.Text(), &connected, &kilobytes); err != nil {
			t.Fatalf("the hub said %q", in.Text())
		}
		return connected, kilobytes
	}
	_, before := measure()
	for i := range links {
		conf := a.conf("target", string(bustest.ID(i)))
		l, err := bus.Dial(context.Background(), bus.LinkConfig{ID: bustest.ID(i), URLs: []string{"tls://" + address},
			TLS: always(conf), Backoff: soon})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	var after int
	bustest.Await(t, strconv.Itoa(links)+" links", func() (all bool) {
		n, kilobytes := measure()
		after = kilobytes
		return n == links
	})
	t.ReportMetric(float64(after-before)/float64(links), "KB/connection")
	t.ReportMetric(float64(before), "KB/hub")
}
