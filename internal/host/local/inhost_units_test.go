//go:build inhost

package local_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
)

// These tests change the machine that they run on. test/e2e builds them with
// the tag inhost and runs them inside a booted test host.

func openMachine(t *testing.T, opts local.Options) *local.Host {
	t.Helper()
	h, err := local.Open("/", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func openUnits(t *testing.T) host.Units {
	t.Helper()
	u, err := openMachine(t, local.Options{}).Units()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// unit writes a unit file and makes systemd read it.
func unit(t *testing.T, u host.Units, name, text string) {
	t.Helper()
	write(t, "/etc/systemd/system/"+name, text)
	if err := u.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Job(context.Background(), "stop", name) })
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// want checks State and Active of a unit.
func want(t *testing.T, u host.Units, name, state, active string) {
	t.Helper()
	got, err := u.Unit(t.Context(), name)
	if err != nil || got.State != state || got.Active != active {
		t.Errorf("unit %s is %q, %q, %v, want %q, %q", name, got.State, got.Active, err, state, active)
	}
}

func fails(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("the error lacks %q:\n%v", p, err)
		}
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const sleeper = "[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/touch /run/reloaded\n[Install]\nWantedBy=multi-user.target\n"

func TestUnitLife(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	unit(t, u, "life.service", sleeper)
	want(t, u, "life.service", "disabled", "inactive")
	for _, verb := range []string{"start", "start", "restart", "reload", "try-restart", "reload-or-restart"} {
		if err := u.Job(ctx, verb, "life.service"); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		want(t, u, "life.service", "disabled", "active")
	}
	if _, err := os.Stat("/run/reloaded"); err != nil {
		t.Error("reload did not run ExecReload")
	}
	ok(t, u.SetEnabled(ctx, "life.service", true))
	want(t, u, "life.service", "enabled", "active")
	ok(t, u.SetEnabled(ctx, "life.service", false))
	want(t, u, "life.service", "disabled", "active")
	for range 2 {
		ok(t, u.Job(ctx, "stop", "life.service"))
		want(t, u, "life.service", "disabled", "inactive")
	}
	ok(t, u.Job(ctx, "try-restart", "life.service"))
	want(t, u, "life.service", "disabled", "inactive")
	fails(t, u.Job(ctx, "reload", "life.service"), "cannot reload life.service")
	fails(t, u.Job(ctx, "dance", "life.service"), "there is no job")
}

func TestUnitFailuresCarryTheLog(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	unit(t, u, "bad.service", "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo the reason is here; exit 3'\n")
	fails(t, u.Job(ctx, "start", "bad.service"), "cannot start bad.service", "exit-code", "status 3", "the reason is here")
	want(t, u, "bad.service", "static", "failed")

	unit(t, u, "dies.service", "[Service]\nExecStart=/bin/sh -c 'echo dying; exit 4'\n")
	fails(t, u.Job(ctx, "start", "dies.service"), "ended at once", "dying")

	unit(t, u, "flaps.service", "[Service]\nRestart=always\nRestartSec=5\nExecStart=/bin/sh -c 'echo flapping; exit 5'\n")
	fails(t, u.Job(ctx, "start", "flaps.service"), "ended at once", "flapping")

	unit(t, u, "slow.service", "[Service]\nType=oneshot\nTimeoutStartSec=1\nExecStart=/bin/sleep 60\n")
	fails(t, u.Job(ctx, "start", "slow.service"), "time")

	unit(t, u, "needs.service", "[Unit]\nRequires=bad.service\nAfter=bad.service\n[Service]\nExecStart=/bin/sleep 60\n")
	fails(t, u.Job(ctx, "start", "needs.service"), "a unit that it requires failed")

	unit(t, u, "skip.service", "[Unit]\nConditionPathExists=/no/such\n[Service]\nExecStart=/bin/sleep 60\n")
	fails(t, u.Job(ctx, "start", "skip.service"), "condition", "ConditionPathExists=/no/such")

	fails(t, u.Job(ctx, "start", "missing.service"), "cannot start missing.service")
}

func TestUnitPutRightStartsAgain(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	unit(t, u, "again.service", "[Service]\nExecStart=/bin/false\n")
	for range 7 { // more often than systemd's start limit
		fails(t, u.Job(ctx, "start", "again.service"), "cannot start")
	}
	unit(t, u, "again.service", sleeper)
	ok(t, u.Job(ctx, "start", "again.service"))
	want(t, u, "again.service", "disabled", "active")
}

func TestOneshotThatEndsIsFine(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	unit(t, u, "once.service", "[Service]\nType=oneshot\nExecStart=/bin/true\n")
	ok(t, u.Job(ctx, "start", "once.service"))
	want(t, u, "once.service", "static", "inactive")
	unit(t, u, "stays.service", "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n")
	ok(t, u.Job(ctx, "start", "stays.service"))
	want(t, u, "stays.service", "static", "active")
	fails(t, u.SetEnabled(ctx, "once.service", true), "[Install]")
}

func TestUnitNamesOfAllKinds(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	got, err := u.Unit(ctx, "nowhere.service")
	if err != nil || got.Loaded {
		t.Errorf("an unknown unit is %+v, %v", got, err)
	}
	unit(t, u, "many@.service", "[Service]\nExecStart=/bin/sleep 1%i\n[Install]\nWantedBy=multi-user.target\n")
	want(t, u, "many@.service", "disabled", "inactive")
	ok(t, u.Job(ctx, "start", "many@00.service"))
	ok(t, u.SetEnabled(ctx, "many@00.service", true))
	want(t, u, "many@00.service", "enabled", "active")
	want(t, u, "many@01.service", "disabled", "inactive")
	ok(t, u.Job(ctx, "stop", "many@00"))
	unit(t, u, "real.service", sleeper+"Alias=other.service\n")
	ok(t, u.SetEnabled(ctx, "real.service", true))
	ok(t, u.Job(ctx, "start", "other.service"))
	want(t, u, "other.service", "enabled", "active")
	want(t, u, "real.service", "enabled", "active")
	ok(t, u.SetEnabled(ctx, "real.service", false))
}

func TestMask(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	write(t, "/usr/lib/systemd/system/vendor.service", sleeper)
	ok(t, u.Reload(ctx))
	ok(t, u.SetMasked(ctx, "vendor.service", true))
	if got, err := u.Unit(ctx, "vendor.service"); err != nil || !got.Masked || !got.Loaded {
		t.Errorf("masked unit is %+v, %v", got, err)
	}
	fails(t, u.Job(ctx, "start", "vendor.service"), "masked")
	fails(t, u.SetEnabled(ctx, "vendor.service", true), "masked")
	ok(t, u.SetMasked(ctx, "vendor.service", false))
	want(t, u, "vendor.service", "disabled", "inactive")
	unit(t, u, "mine.service", sleeper)
	fails(t, u.SetMasked(ctx, "mine.service", true), "cannot mask mine.service")
	if b, err := os.ReadFile("/etc/systemd/system/mine.service"); err != nil || string(b) != sleeper {
		t.Errorf("masking touched the unit file: %q, %v", b, err)
	}
}

func TestNeedsReload(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	unit(t, u, "stale.service", sleeper)
	ok(t, u.Job(ctx, "start", "stale.service"))
	if needs, err := u.NeedsReload(ctx, "stale.service"); err != nil || needs {
		t.Errorf("a fresh unit: %v, %v", needs, err)
	}
	later := time.Now().Add(time.Hour)
	ok(t, os.Chtimes("/etc/systemd/system/stale.service", later, later))
	if needs, err := u.NeedsReload(ctx, "stale.service"); err != nil || !needs {
		t.Errorf("a changed unit: %v, %v", needs, err)
	}
	ok(t, u.Reload(ctx))
	if needs, err := u.NeedsReload(ctx, "stale.service"); err != nil || needs {
		t.Errorf("after reload: %v, %v", needs, err)
	}
}

func TestSysVScript(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	write(t, "/etc/init.d/oldie",
		"#!/bin/sh\n### BEGIN INIT INFO\n# Provides: oldie\n# Required-Start:\n# Required-Stop:\n# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n### END INIT INFO\nexit 0\n")
	ok(t, os.Chmod("/etc/init.d/oldie", 0o755))
	ok(t, u.Reload(ctx))
	want(t, u, "oldie.service", "disabled", "inactive")
	ok(t, u.SetEnabled(ctx, "oldie.service", true))
	want(t, u, "oldie.service", "enabled", "inactive")
	ok(t, u.Job(ctx, "start", "oldie.service"))
	ok(t, u.SetEnabled(ctx, "oldie.service", false))
	want(t, u, "oldie.service", "disabled", "active")
}

func TestJobEndsWithItsContext(t *testing.T) {
	u := openUnits(t)
	unit(t, u, "hang.service", "[Service]\nType=oneshot\nExecStart=/bin/sleep 600\n")
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := u.Job(ctx, "start", "hang.service")
	fails(t, err, "cannot start hang.service", "stopped waiting")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is not the context's: %v", err)
	}
}

func TestUnitsSurviveBusRestart(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	unit(t, u, "before.service", sleeper)
	ok(t, u.Job(ctx, "restart", "dbus.service"))
	ok(t, u.Job(ctx, "start", "before.service"))
	want(t, u, "before.service", "disabled", "active")
}

func TestUnitCallsAreCounted(t *testing.T) {
	var ops []string
	refuse := errors.New("refused")
	h := openMachine(t, local.Options{Count: func(op, path string) error {
		ops = append(ops, op+" "+path)
		return refuse
	}})
	u, err := h.Units()
	ok(t, err)
	write(t, "/etc/systemd/system/counted.service", sleeper)
	for _, call := range []func() error{
		func() error { return u.Job(t.Context(), "start", "counted.service") },
		func() error { return u.SetEnabled(t.Context(), "counted.service", true) },
		func() error { return u.Reload(t.Context()) },
	} {
		if err := call(); !errors.Is(err, refuse) {
			t.Errorf("the counter's error is %v", err)
		}
	}
	if got := strings.Join(ops,
		", "); got != "unit-start counted.service, unit-enable counted.service, unit-daemon-reload " {
		t.Errorf("counted %s", got)
	}
	want(t, u, "counted.service", "disabled", "inactive")
}

// A service that ends with another exit code than 0 when it is stopped is not left failed.
func TestUnitStopLeavesNothingFailed(t *testing.T) {
	u, ctx := openUnits(t), t.Context()
	unit(t, u, "grumpy.service",
		"[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/sh -c 'trap \"exit 143\" TERM; systemd-notify --ready; while :; do sleep 1; done'\n")
	ok(t, u.Job(ctx, "start", "grumpy.service"))
	ok(t, u.Job(ctx, "stop", "grumpy.service"))
	want(t, u, "grumpy.service", "static", "inactive")
}
