package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// bootLimit is when a host that does not come up, or does not go down, is given
// up. It is far above what a boot takes on a busy machine.
const bootLimit = 3 * time.Minute

// Start powers a host on that is off and waits until it runs. On a host that is
// on it only waits.
func (h *Host) Start(t testing.TB) {
	t.Helper()
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
}

func (h *Host) start() error {
	h.mu.Lock()
	var err error
	if h.off {
		err = h.launch()
	}
	h.mu.Unlock()
	if err != nil {
		return err
	}
	return h.awaitBoot(1)
}

// Boots returns how many times the host has been powered on or has rebooted.
func (h *Host) Boots() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current == nil {
		return 0
	}
	return h.current.num
}

// AwaitBoot waits until the host's boot number num, or a later one, is up: for
// reboots that something on the host asks for.
func (h *Host) AwaitBoot(t testing.TB, num int) {
	t.Helper()
	if err := h.awaitBoot(num); err != nil {
		t.Fatal(err)
	}
}

func (h *Host) awaitBoot(num int) error {
	ctx, cancel := context.WithTimeout(context.Background(), bootLimit)
	defer cancel()
	var up *boot
	await(ctx, func() bool {
		b, ended := h.latest()
		if b == nil || b.num < num {
			return false
		}
		select {
		case <-b.up:
			up = b
		case <-b.gone:
			return ended || b.code != rebootCode
		default:
			return false
		}
		return true
	})
	if up == nil {
		return fmt.Errorf("cannot boot %s: it did not come up; see its console", h.Name)
	}
	return h.check()
}

// latest returns the host's latest boot and whether the host is switched off.
func (h *Host) latest() (*boot, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current, h.off
}

// check demands that systemd is content with the host.
func (h *Host) check() error {
	got := h.Exec("systemctl", "is-system-running", "--wait")
	if h.opts.NoCheck || strings.TrimSpace(got.Stdout) == "running" {
		return nil
	}
	failed := h.Exec("systemctl", "--failed", "--no-legend", "--plain")
	return fmt.Errorf("cannot boot %s: it is %s%s; failed units:\n%s", h.Name, got.Stdout, got.Stderr, failed.Stdout)
}

// Reboot has the host reboot itself and waits until it runs again.
func (h *Host) Reboot(t testing.TB) {
	t.Helper()
	next := h.Boots() + 1
	h.Exec("systemctl", "reboot")
	h.AwaitBoot(t, next)
}

// PowerCut kills every process of the host at once, and leaves the host off. Unlike in a power cut,
// all written data stays: see the package comment.
func (h *Host) PowerCut(t testing.TB) {
	t.Helper()
	if err := h.kill(); err != nil {
		t.Fatal(err)
	}
}

// PowerOff shuts the host down in order and leaves it off.
func (h *Host) PowerOff(t testing.TB) {
	t.Helper()
	b := h.switchOff()
	h.Exec("systemctl", "poweroff")
	if err := h.awaitGone(b); err != nil {
		t.Fatal(err)
	}
}

// kill cuts the power of a host that may be on. No boot begins after it.
func (h *Host) kill() error {
	b := h.switchOff()
	if b == nil {
		return nil
	}
	if err := killCgroup(h.group()); err != nil {
		return err
	}
	return h.awaitGone(b)
}

func (h *Host) switchOff() *boot {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.off = true
	return h.current
}

func (h *Host) awaitGone(b *boot) error {
	if b == nil {
		return nil
	}
	select {
	case <-b.gone:
		return nil
	case <-time.After(bootLimit):
		return fmt.Errorf("cannot switch %s off: processes remain", h.Name)
	}
}

// leader returns the process 1 of a host that is up.
func (h *Host) leader() (int, error) {
	b, _ := h.latest()
	if b == nil {
		return 0, errOff
	}
	select {
	case <-b.gone:
		return 0, errOff
	default:
	}
	select {
	case <-b.up:
		return int(b.leader.Load()), nil
	default:
		return 0, errOff
	}
}

var errOff = errors.New("the host is off or still booting")

// await waits until done reports true or ctx ends.
func await(ctx context.Context, done func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
