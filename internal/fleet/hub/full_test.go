//go:build !race

// The store of nats-server has data races of its own when its disk is full. The race detector reports them
// as failures of the test, so make test runs this file without the detector.

package hub_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

// small mounts a small disk on a directory.
func small(t *testing.T, dir string) {
	t.Helper()
	needs.Root(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64M,mode=0700", "small",
		dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// fill uses all free space, and returns the file that does.
func fill(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "fill")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, piece := range []int{1 << 20, 4096, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, piece))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return name
}

// isRedundant returns the redundancy that a hub reports. Its check, alarms and metrics must agree.
func (o *one) isRedundant() (text string, is, same bool) {
	var c document.HubCheck
	var a document.AlarmPage
	if o.ask("GET", "/v1/check", nil, &c) != nil || o.ask("GET", "/v1/alarms", nil, &a) != nil {
		return "", false, false
	}
	at := slices.IndexFunc(c.Checks, func(f document.HubFinding) bool { return f.Name == "hubs" })
	alarm := slices.ContainsFunc(a.Alarms, func(a document.Alarm) bool { return a.Kind == "redundancy" })
	m := o.metrics()
	if at < 0 {
		return m, false, false
	}
	f := c.Checks[at]
	return f.Text, f.Well, f.Well != alarm && strings.Contains(m,
		fmt.Sprintf("fettle_hub_redundant %d\n", map[bool]int{true: 1}[f.Well]))
}

func (o *one) metrics() string {
	client := socketClient(o.socket()).http
	answer, err := client.Get("http://hub/metrics")
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return answer.Status
	}
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// The disk of one hub of three is full for a while. The other hubs report this and continue. When
// there is free space, the hub restarts by itself and gets all data.
func TestFullDisk(t *testing.T) {
	sample.Group(t, 0, 8)
	t.Parallel()
	w := newSeveral(t)
	small(t, filepath.Join(w.dir, "hub3"))
	w.join("hub2")
	w.kept(w.hubs[0], 2)
	third := w.join("hub3")
	w.kept(w.hubs[0], 3)
	all := func(what string, want bool, hubs ...*one) {
		t.Helper()
		for _, o := range hubs {
			text := until(t, what+" at "+o.name, func() (string, bool) {
				text, is, same := o.isRedundant()
				return text, same && is == want
			})
			t.Logf("%s: %s", o.name, text)
			if !want && !strings.Contains(text, "hub3 ") {
				t.Errorf("%s does not name hub3: %s", o.name, text)
			}
		}
	}
	all("everything is redundant", true, w.hubs...)
	filled := fill(t, third.dir())
	for i := range 20 { // something to write
		w.hubs[0].must("POST", "/v1/users", document.UserRequest{Name: fmt.Sprint("ann", i), Roles: []string{"read"}},
			&document.Done{})
	}
	all("redundancy is lost", false, w.hubs[:2]...)
	if err := os.Remove(filled); err != nil {
		t.Fatal(err)
	}
	w.kept(w.hubs[0], 3)
	all("everything is redundant again", true, w.hubs...)
	third.mu.Lock()
	defer third.mu.Unlock()
	t.Logf("%s", strings.Join(third.warn, "\n"))
	if !slices.ContainsFunc(third.warn, func(text string) bool {
		return strings.Contains(text,
			"this hub stops serving")
	}) {
		t.Error("hub3 does not say that it stopped")
	}
}

// The disk of a hub that is alone is full for a while: the hub serves again by itself when there is
// free space.
func TestFullDiskAlone(t *testing.T) {
	sample.Group(t, 3, 11)
	t.Parallel()
	w := newSeveral(t)
	o := w.hubs[0]
	o.stop()
	if err := os.Rename(o.dir(), o.dir()+"-was"); err != nil {
		t.Fatal(err)
	}
	small(t, o.dir())
	if out, err := exec.Command("cp", "-a", o.dir()+"-was/.", o.dir()).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	o.start()
	filled := fill(t, o.dir())
	n := 0
	add := func() error {
		n++
		return o.ask("POST", "/v1/users", document.UserRequest{Name: fmt.Sprint("ann", n), Roles: []string{"read"}},
			&document.Done{})
	}
	until(t, "it stops serving", func() (error, bool) {
		err := add()
		o.mu.Lock()
		defer o.mu.Unlock()
		return err, slices.ContainsFunc(o.warn, func(text string) bool {
			return strings.Contains(text,
				"this hub stops serving")
		})
	})
	if err := os.Remove(filled); err != nil {
		t.Fatal(err)
	}
	until(t, "it serves again", func() (error, bool) {
		err := add()
		return err, err == nil
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if got := strings.Join(o.serves, " "); !strings.HasPrefix(got, "ready ready stopped ready") {
		t.Errorf("the service manager was notified of %q", got)
	}
	for _, text := range o.warn {
		if strings.Contains(text, "Filestore") || strings.Contains(text, "Stream state") {
			t.Errorf("in words of the store: %s", text)
		}
	}
}
