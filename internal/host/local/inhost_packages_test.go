//go:build inhost

package local_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
)

// The repository of these tests is written by test/e2e: demo 1.0 and 2.0 with
// a conffile, which depend on demo-data; epoch 1:1.0; picky, whose postinst
// fails without /run/allow; slow, whose postinst waits for /run/go; rival,
// which conflicts with demo.

func openPackages(t *testing.T, opts local.Options) host.Packages {
	t.Helper()
	p, err := openMachine(t, opts).Packages()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// change runs one transaction and checks the additional changes.
func change(t *testing.T, p host.Packages, also map[string]string, changes ...host.PackageChange) {
	t.Helper()
	foreseen, err := p.Simulate(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Change(t.Context(), changes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, also) || !maps.Equal(foreseen, also) {
		t.Errorf("also %v, simulated %v, want %v", got, foreseen, also)
	}
}

func version(t *testing.T, p host.Packages, name, want string) {
	t.Helper()
	got, err := p.Installed(t.Context(), []string{name})
	if err != nil || got[name].Version != want {
		t.Errorf("%s is %+v, %v, want version %q", name, got[name], err, want)
	}
}

func clean(t *testing.T, p host.Packages) {
	t.Helper()
	if got, err := p.Audit(t.Context()); err != nil || got != "" {
		t.Errorf("audit: %q, %v", got, err)
	}
}

func wipe(t *testing.T, p host.Packages, names ...string) {
	t.Helper()
	var all []host.PackageChange
	for _, n := range names {
		all = append(all, host.PackageChange{Name: n, Absent: true, Purge: true, Held: no()})
	}
	if _, err := p.Change(context.WithoutCancel(t.Context()), all, nil); err != nil {
		t.Error(err)
	}
}

func TestPackageLife(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "demo", "demo-data")
	version(t, p, "demo", "")
	change(t, p, map[string]string{"demo-data": ""}, host.PackageChange{Name: "demo", Version: "1.0"})
	version(t, p, "demo", "1.0")
	got, err := p.Installed(t.Context(), []string{"demo", "demo-data", "no-such"})
	if err != nil || !got["demo-data"].Auto || got["demo"].Auto || got["demo"].Status != "ii" ||
		got["no-such"].Status != "" || len(got) != 3 {
		t.Errorf("installed %+v, %v", got, err)
	}
	change(t, p, map[string]string{}, host.PackageChange{Name: "demo"})
	version(t, p, "demo", "2.0")
	change(t, p, map[string]string{}, host.PackageChange{Name: "demo", Version: "1.0"})
	version(t, p, "demo", "1.0")
	change(t, p, map[string]string{"demo": "1.0"}, host.PackageChange{Name: "demo-data", Absent: true})
	version(t, p, "demo", "")
	if got, _ := p.Installed(t.Context(), []string{"demo"}); got["demo"].Status != "rc" {
		t.Errorf("removed package is %+v, want its configuration left", got["demo"])
	}
	change(t, p, map[string]string{}, host.PackageChange{Name: "demo", Absent: true, Purge: true})
	if _, err := os.Stat("/etc/demo.conf"); err == nil {
		t.Error("purge left the conffile")
	}
	clean(t, p)
}

func TestPackageReplacesItsRival(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "demo", "demo-data", "rival", "epoch")
	change(t, p, map[string]string{"demo-data": ""}, host.PackageChange{Name: "demo", Version: "2.0"})
	change(t, p, map[string]string{"demo": "2.0"}, host.PackageChange{Name: "rival"},
		host.PackageChange{Name: "epoch", Version: "1:1.0"})
	version(t, p, "epoch", "1:1.0")
}

func TestHoldsAndMarks(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "demo", "demo-data")
	change(t, p, map[string]string{"demo-data": ""}, host.PackageChange{Name: "demo", Version: "1.0", Held: yes()})
	got, err := p.Installed(t.Context(), []string{"demo"})
	if err != nil || !got["demo"].Held {
		t.Errorf("held package is %+v, %v", got["demo"], err)
	}
	_, err = p.Change(t.Context(), []host.PackageChange{{Name: "demo", Version: "2.0"}}, nil)
	fails(t, err, "held at 1.0", "apt-mark unhold demo")
	change(t, p, map[string]string{}, host.PackageChange{Name: "demo", Version: "2.0", Held: yes()})
	change(t, p, map[string]string{}, host.PackageChange{Name: "demo", Version: "2.0", Held: no(), Auto: yes()},
		host.PackageChange{Name: "demo-data", Version: "1"})
	got, err = p.Installed(t.Context(), []string{"demo", "demo-data"})
	if err != nil || got["demo"].Held || !got["demo"].Auto || got["demo"].Version != "2.0" || !got["demo-data"].Auto {
		t.Errorf("packages are %+v, %v", got, err)
	}
}

func TestConffilePromptNeverHangs(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "demo", "demo-data")
	change(t, p, map[string]string{"demo-data": ""}, host.PackageChange{Name: "demo", Version: "1.0"})
	write(t, "/etc/demo.conf", "mine\n")
	change(t, p, map[string]string{}, host.PackageChange{Name: "demo", Version: "2.0"})
	if b, _ := os.ReadFile("/etc/demo.conf"); string(b) != "mine\n" {
		t.Errorf("the administrator's file is now %q", b)
	}
}

func TestFailingScriptIsReportedAndRepaired(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "picky")
	also, err := p.Change(t.Context(), []host.PackageChange{{Name: "picky"}}, nil)
	fails(t, err, "picky", "post-installation script", "exit status 7", "picky wants /run/allow")
	if len(also) > 0 {
		t.Errorf("also %v", also)
	}
	if strings.Contains(err.Error(), "Sub-process") {
		t.Errorf("the error is not condensed:\n%v", err)
	}
	got, err := p.Audit(t.Context())
	if err != nil || got != "picky is half configured" {
		t.Errorf("audit: %q, %v", got, err)
	}
	fails(t, p.Repair(t.Context(), nil), "picky is half configured", "picky wants /run/allow")
	write(t, "/run/allow", "")
	defer os.Remove("/run/allow")
	ok(t, p.Repair(t.Context(), nil))
	clean(t, p)
	version(t, p, "picky", "1.0")
}

func TestKilledDpkgIsRepaired(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "slow")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Change(ctx, []host.PackageChange{{Name: "slow"}}, nil)
		ended <- err
	}()
	awaitPath(t, "/run/slow-waits")
	cancel()
	fails(t, <-ended, "cannot change packages")
	if got, err := p.Audit(t.Context()); err != nil || got == "" {
		t.Errorf("audit after the kill: %q, %v", got, err)
	}
	write(t, "/run/go", "")
	defer os.Remove("/run/go")
	ok(t, p.Repair(t.Context(), nil))
	clean(t, p)
	version(t, p, "slow", "1.0")
}

// TestLockIsWaitedFor lets another apt hold the lock and finish.
func TestLockIsWaitedFor(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "slow", "epoch")
	_ = os.Remove("/run/slow-waits")
	other := exec.Command("apt-get", "install", "-y", "slow")
	ok(t, other.Start())
	awaitPath(t, "/run/slow-waits")
	told := make(chan string, 10)
	ended := make(chan error, 1)
	go func() {
		_, err := p.Change(t.Context(), []host.PackageChange{{Name: "epoch"}}, func(p host.Progress) {
			if p.Waits {
				told <- p.Text
			}
		})
		ended <- err
	}()
	if got := <-told; !strings.Contains(got, "held by apt-get install -y slow (process ") {
		t.Errorf("progress says %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := p.Change(ctx, []host.PackageChange{{Name: "epoch"}}, nil)
	fails(t, err, "package lock is held by apt-get install")
	short := openPackages(t, local.Options{PackageLockWait: 300 * time.Millisecond})
	_, err = short.Change(t.Context(), []host.PackageChange{{Name: "epoch"}}, nil)
	fails(t, err, "the package lock has been held by apt-get install", "for 300ms", "wait for it, then run fettle again")
	version(t, p, "epoch", "")
	write(t, "/run/go", "")
	defer os.Remove("/run/go")
	ok(t, other.Wait())
	ok(t, <-ended)
	version(t, p, "epoch", "1:1.0")
}

func awaitPath(t *testing.T, path string) {
	t.Helper()
	for range 600 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s has not come", path)
}

func TestMistakesSayWhatToDo(t *testing.T) {
	p := openPackages(t, local.Options{})
	tests := []struct {
		change host.PackageChange
		want   []string
	}{
		{host.PackageChange{Name: "demmo"}, []string{"Unable to locate package demmo", `Did you mean "demo"?`,
			"apt-get update"}},
		{host.PackageChange{Name: "demo", Version: "9"},
			[]string{"Version '9' for 'demo' was not found", "apt knows 2.0 and 1.0"}},
		{host.PackageChange{Name: "--reinstall"}, []string{"not the name of a package"}},
		{host.PackageChange{Name: "demo", Version: "1 0"}, []string{"cannot read package version"}},
		{host.PackageChange{Name: "hostname", Absent: true}, []string{"Essential packages were removed", "fettle does not"}},
	}
	for _, tc := range tests {
		_, err := p.Change(t.Context(), []host.PackageChange{tc.change}, nil)
		fails(t, err, tc.want...)
		_, err = p.Simulate(t.Context(), []host.PackageChange{tc.change})
		fails(t, err, tc.want[:1]...)
	}
	clean(t, p)
}

func TestKeptPackageComesBackWithoutTheArchive(t *testing.T) {
	debs := filepath.Join(t.TempDir(), "a", "debs")
	p := openPackages(t, local.Options{Debs: debs})
	defer wipe(t, p, "epoch", "demo", "demo-data")
	change(t, p, map[string]string{}, host.PackageChange{Name: "epoch", Version: "1:1.0"})
	deb, have, err := p.Keep(t.Context(), "epoch", "1:1.0")
	if err != nil || !have || filepath.Dir(deb) != debs {
		t.Fatalf("kept %q, %v, %v", deb, have, err)
	}
	if again, _, err := p.Keep(t.Context(), "epoch", "1:1.0"); err != nil || again != deb {
		t.Errorf("kept again: %q, %v", again, err)
	}
	if _, have, err := p.Keep(t.Context(), "epoch", "9.9"); err != nil || have {
		t.Errorf("a version that is nowhere: %v, %v", have, err)
	}
	change(t, p, map[string]string{}, host.PackageChange{Name: "epoch", Absent: true})
	sources := "/etc/apt/sources.list.d"
	ok(t, os.Rename(sources, sources+".away"))
	ok(t, exec.Command("apt-get", "update").Run())
	defer func() {
		ok(t, os.Rename(sources+".away", sources))
		ok(t, exec.Command("apt-get", "update").Run())
	}()
	change(t, p, map[string]string{}, host.PackageChange{Name: "epoch", Version: "1:1.0"})
	version(t, p, "epoch", "1:1.0")
	if names, err := os.ReadDir(debs); err != nil || len(names) != 2 {
		t.Errorf("kept packages: %v, %v, want the package and the empty .download", names, err)
	}
}

// TestKilledAnywhereIsRepaired ends transactions at many moments: afterwards
// the package is at its old or its new version, and dpkg is content.
func TestKilledAnywhereIsRepaired(t *testing.T) {
	p := openPackages(t, local.Options{})
	defer wipe(t, p, "demo", "demo-data")
	versions := []string{"1.0", "2.0"}
	change(t, p, map[string]string{"demo-data": ""}, host.PackageChange{Name: "demo", Version: "1.0"})
	start := time.Now()
	change(t, p, map[string]string{}, host.PackageChange{Name: "demo", Version: "2.0"})
	whole := time.Since(start)
	was, killed := "2.0", 0
	for i := range 20 {
		to := versions[i%2]
		ctx, cancel := context.WithTimeout(t.Context(), whole*time.Duration(i+1)/20)
		_, err := p.Change(ctx, []host.PackageChange{{Name: "demo", Version: to}}, nil)
		cancel()
		if err != nil {
			killed++
		}
		ok(t, p.Repair(t.Context(), nil))
		clean(t, p)
		got, err := p.Installed(t.Context(), []string{"demo"})
		ok(t, err)
		if v := got["demo"].Version; v != was && v != to {
			t.Errorf("killed on the way from %q to %q it is %q", was, to, v)
		}
		was = got["demo"].Version
	}
	if killed == 0 {
		t.Error("no transaction was killed: every one was faster than its limit")
	}
	t.Logf("%d of 20 were killed", killed)
}
