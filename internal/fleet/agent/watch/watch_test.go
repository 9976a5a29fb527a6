package watch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/watch"
)

func Example() {
	w, err := watch.New("/", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Watch(agent.Managed{Paths: []string{"/etc/motd"}}))
	// Output: <nil>
}

// seen starts a watch below a new root, and returns the reported changes.
func seen(t *testing.T, units func(context.Context, func(string)) error,
	m func(root string) agent.Managed) (root string, touches <-chan struct{}) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	managed := m(root)
	w, err := watch.New(root, units)
	if err == nil {
		err = w.Watch(managed)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c, done := make(chan struct{}, 100), make(chan error, 1)
	go func() { done <- w.Run(ctx, func() { c <- struct{}{} }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return root, c
}

func await(t *testing.T, what string, touches <-chan struct{}) {
	t.Helper()
	select {
	case <-touches:
	case <-time.After(time.Minute):
		t.Fatalf("%s was not seen", what)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreSeen(t *testing.T) {
	root, touches := seen(t, nil, func(root string) agent.Managed {
		must(t, os.MkdirAll(filepath.Join(root, "etc/conf.d"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, "etc/motd"), nil, 0o644))
		return agent.Managed{Paths: []string{"/etc/motd", "/etc/conf.d", "/opt/app/config"},
			WholeDirectories: []string{"/etc/conf.d"}}
	})
	began := time.Now()
	must(t, os.WriteFile(filepath.Join(root, "etc/motd"), []byte("x"), 0o644))
	await(t, "content", touches)
	t.Logf("seen after %s", time.Since(began))
	must(t, os.Chmod(filepath.Join(root, "etc/motd"), 0o600))
	await(t, "mode", touches)
	must(t, os.WriteFile(filepath.Join(root, "etc/conf.d/foreign"), nil, 0o644))
	await(t, "a foreign file", touches)
	must(t, os.MkdirAll(filepath.Join(root, "opt"), 0o755))
	await(t, "a directory on the way", touches)
	must(t, os.WriteFile(filepath.Join(root, "etc/other"), nil, 0o644)) // not managed
	must(t, os.Remove(filepath.Join(root, "etc/motd")))
	await(t, "removal", touches)
	select {
	case <-touches:
		t.Error("what is nobody's is told")
	default:
	}
}

func TestUnitsAreSeen(t *testing.T) {
	units := func(ctx context.Context, each func(string)) error {
		each("other.service")
		each("mine.service")
		<-ctx.Done()
		return ctx.Err()
	}
	_, touches := seen(t, units, func(string) agent.Managed { return agent.Managed{Units: []string{"mine.service"}} })
	await(t, "the unit", touches)
}

// Paths that cannot be watched are reported, and all others are watched.
func TestWhatCannotBeWatched(t *testing.T) {
	w, err := watch.New("/", nil)
	must(t, err)
	if err := w.Watch(agent.Managed{Paths: []string{"/" + strings.Repeat("x", 300) + "/y", "/etc/motd"}}); err == nil {
		t.Error("it says that all is watched")
	}
}
