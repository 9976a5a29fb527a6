package reboot

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// rig is a host with an agent, and a hub with one slot.
type rig struct {
	*Keeper
	t      *testing.T
	now    time.Time
	lock   string // "": no lock for reboots
	owner  string
	token  uint64
	away   bool // no hub answers
	lost   bool // the hub grants a slot, and the answer is lost
	exempt bool
	closed string
	unfit  string
	fails  bool
	ran    []string
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: time.Unix(1e9, 0), lock: "reboots"}
	r.boots("boot1", mem.New(mem.Options{}), mem.New(mem.Options{}))
	return r
}

// boots starts the agent.
func (r *rig) boots(boot string, state, run host.FS) {
	r.Keeper = &Keeper{State: state, File: "/reboot.json", Host: run, Boot: boot, Ask: r.ask,
		Command: func(_ context.Context, argv []string) error {
			r.ran = append(r.ran, strings.Join(argv, " "))
			if r.fails {
				return errors.New("the host is frozen")
			}
			return nil
		},
		NotReady: func() string { return r.unfit }, Closed: func() string { return r.closed },
		Now: func() time.Time { return r.now }, Warn: func(text string) { r.t.Log(text) }}
}

func (r *rig) ask(_ context.Context, q fleet.RebootRequest) (fleet.RebootSlot, error) {
	switch {
	case r.away:
		return fleet.RebootSlot{}, fleet.ErrNoHub
	case q.Action == fleet.RebootRelease && r.owner == "self" && (q.Token == 0 || q.Token == r.token):
		r.owner = ""
	case q.Action != fleet.RebootAcquire || r.lock == "" || q.Lock != r.lock:
	case r.owner != "" && r.owner != "self":
		return fleet.RebootSlot{Lock: r.lock, Why: "waits for a slot of the lock reboots, held by " + r.owner}, nil
	default:
		if r.owner == "" {
			r.token++
		}
		r.owner = "self"
		if r.lost {
			return fleet.RebootSlot{}, fleet.ErrNoHub
		}
		return fleet.RebootSlot{Lock: r.lock, Granted: true, Token: r.token, Lease: int64(10 * time.Minute),
			Exempt: r.exempt}, nil
	}
	return fleet.RebootSlot{Lock: r.lock, Exempt: r.exempt && q.Action != fleet.RebootRelease}, nil
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := smallfile.Write(r.Host, path.Join(Requests, name), []byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) remove(name string) {
	r.t.Helper()
	if err := smallfile.Remove(r.Host, path.Join(Requests, name)); err != nil {
		r.t.Fatal(err)
	}
}

// turns plays turns and compares the commands, the owner of the slot and the status.
func (r *rig) turns(n int, ran, owner, status string) {
	r.t.Helper()
	r.ran = nil
	for range n {
		if _, err := r.turn(r.t.Context()); err != nil {
			r.t.Error(err)
		}
		r.now = r.now.Add(time.Second)
	}
	text, _ := smallfile.Read(r.Host, StatusFile)
	if got := strings.Join(r.ran, ", "); got != ran || r.owner != owner || !strings.Contains(string(text), status) ||
		status == "" && len(text) > 0 {
		r.t.Errorf("commands %q, owner %q, status %q; want %q, %q, %q", got, r.owner, text, ran, owner, status)
	}
}

// TestReboot: a slot is acquired, renewed and kept until the host is ready after the boot.
func TestReboot(t *testing.T) {
	r := newRig(t)
	r.turns(1, "", "", "")
	r.write("state-kernel", "5")
	r.owner = "web2 since noon"
	r.turns(2, "", r.owner, "the reboot waits for a slot of the lock reboots, held by web2 since noon")
	r.owner = ""
	r.turns(1, "shutdown -r +5", "self", "reboots in 5m0s, with a slot of the lock reboots")
	mustWrite(t, r.Host, scheduledFile)
	r.turns(3, "", "self", "reboots in 5m0s")
	r.unfit = "the module web failed"
	r.boots("boot2", r.State, mem.New(mem.Options{}))
	r.turns(2, "", "self", "keeps its slot of the lock reboots until it is ready: the module web failed")
	r.unfit, r.away = "", true
	r.turns(2, "", "self", "could not yet release its slot")
	r.away = false
	r.turns(2, "", "", "")
}

func mustWrite(t *testing.T, files host.FS, file string) {
	t.Helper()
	err := smallfile.Directory(files, path.Dir(file))
	if err == nil {
		err = smallfile.Write(files, file, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWithoutALock: there is no directory for requests, so other programs reboot the host. It appears with a lock.
func TestWithoutALock(t *testing.T) {
	r := newRig(t)
	there := func(want bool) {
		t.Helper()
		if is, err := host.Exists(r.Host, Requests); err != nil || is != want {
			t.Errorf("the directory of requests: %v, %v", is, err)
		}
	}
	r.away = true
	r.turns(1, "", "", "")
	there(false)
	r.away, r.lock = false, ""
	r.turns(1, "", "", "")
	there(false)
	r.lock, r.now = "reboots", r.now.Add(learnEvery)
	r.turns(1, "", "", "")
	there(true)
	r.away = true
	r.boots("boot2", r.State, mem.New(mem.Options{}))
	r.turns(1, "", "", "")
	there(true)
	r.lock, r.away = "", false
	r.write(CommandRequest, "0")
	r.turns(2, "systemctl reboot", "", "reboots in 0s")
}

// TestHubAway: without a hub, the host does not reboot, and a scheduled reboot is cancelled before its lease ends.
func TestHubAway(t *testing.T) {
	r := newRig(t)
	r.turns(1, "", "", "")
	r.away = true
	r.write("state-kernel", "15")
	r.turns(3, "", "", "the reboot waits for a hub, which grants slots of the lock reboots: no hub answers")
	r.away = false
	r.turns(1, "shutdown -r +15", "self", "reboots in")
	mustWrite(t, r.Host, scheduledFile)
	r.away = true
	r.now = r.now.Add(9 * time.Minute)
	r.turns(1, "", "self", "reboots in")
	r.now = r.now.Add(time.Minute)
	r.turns(1, "shutdown -c", "self", "the reboot waits for a hub")
	r.away = false
	r.turns(1, "shutdown -r +15", "self", "reboots in")
}

// TestWithdrawn: a request that ends, or that is removed, frees the slot.
func TestWithdrawn(t *testing.T) {
	r := newRig(t)
	r.turns(1, "", "", "")
	r.write("state-kernel", "5")
	r.turns(1, "shutdown -r +5", "self", "reboots in")
	r.remove("state-kernel")
	r.turns(1, "shutdown -c", "", "")

	r.write("state-kernel", "5")
	r.turns(1, "shutdown -r +5", "self", "reboots in") // and a user runs shutdown -c
	r.turns(2, "shutdown -c", "", "")

	r.owner = "web2"
	r.write(CommandRequest, "0 1000000060")
	r.turns(1, "", "web2", "held by web2")
	r.now = r.now.Add(time.Minute)
	r.turns(1, "", "web2", "")
	r.owner = ""
	r.write("odd", "soon")
	r.turns(2, "", "", "")

	r.fails = true
	r.write(CommandRequest, "0")
	r.turns(1, "systemctl reboot", "", "the reboot failed: the host is frozen")
	r.fails = false
	r.turns(1, "systemctl reboot", "self", "reboots in")
	r.now = r.now.Add(stuckAfter)
	r.turns(2, "shutdown -c", "", "")
}

// TestAgentDies: the agent that starts again in the same boot continues. A grant that it never received is released.
func TestAgentDies(t *testing.T) {
	r := newRig(t)
	r.turns(1, "", "", "")
	r.write(CommandRequest, "0")
	r.lost = true
	r.turns(1, "", "self", "waits for a hub")
	r.boots("boot1", r.State, r.Host)
	r.lost = false
	r.turns(1, "systemctl reboot", "self", "reboots in")

	r = newRig(t)
	r.turns(1, "", "", "")
	r.write(CommandRequest, "0")
	r.lost = true
	r.turns(1, "", "self", "waits for a hub")
	r.boots("boot2", r.State, mem.New(mem.Options{})) // a power cut
	r.turns(1, "", "", "")
}

// TestScheduledBefore: an agent that starts again cancels the reboot that it scheduled, if it may not happen any more.
func TestScheduledBefore(t *testing.T) {
	for cancelled, change := range map[string]func(*rig){
		"withdrawn": func(r *rig) { r.remove("state-kernel") },
		"closed":    func(r *rig) { r.closed = "outside of the window nights" },
		"hub away":  func(r *rig) { r.away = true },
		"taken":     func(r *rig) { r.owner = "web2" },
	} {
		r := newRig(t)
		r.turns(1, "", "", "")
		r.write("state-kernel", "15")
		r.turns(1, "shutdown -r +15", "self", "reboots in")
		r.boots("boot1", r.State, r.Host)
		change(r)
		if _, err := r.turn(t.Context()); err != nil || strings.Join(r.ran, ", ") != "shutdown -r +15, shutdown -c" {
			t.Errorf("%s: %v, %v", cancelled, r.ran, err)
		}
	}
}

// TestAnotherLock: if another lock limits reboots, the slot of the first is released.
func TestAnotherLock(t *testing.T) {
	r := newRig(t)
	r.turns(1, "", "", "")
	r.write("state-kernel", "15")
	r.turns(1, "shutdown -r +15", "self", "reboots in")
	mustWrite(t, r.Host, scheduledFile)
	r.lock = "kernel"
	r.turns(1, "", "", "reboots in")
	r.turns(1, "", "self", "reboots in")
	if is, err := r.load(); err != nil || is.Holds != "kernel" || is.Lock != "kernel" {
		t.Errorf("%+v, %v", is, err)
	}
}

// changed changes the owner and the mode of a file.
func changed(file string, uid, mode uint32) func(host.FS) error {
	return func(files host.FS) error {
		n, err := files.OpenNode(file)
		if err != nil {
			return err
		}
		return errors.Join(n.Chown(uid, uid), n.Chmod(mode), n.Close())
	}
}

// TestForeignRequests: only the owner of /run can request a reboot.
func TestForeignRequests(t *testing.T) {
	for name, change := range map[string]func(fs host.FS) error{
		"file":        changed(Requests+"/command", 1000, 0o600),
		"directory":   changed(Requests, 1000, 0o700),
		"parent":      changed("/run/fettle", 1000, 0o700),
		"permissions": changed(Requests, 0, 0o750),
	} {
		r := newRig(t)
		r.turns(1, "", "", "")
		r.write(CommandRequest, "0")
		if err := change(r.Host); err != nil {
			t.Fatal(err)
		}
		_, err := r.turn(t.Context())
		if len(r.ran) > 0 || (err == nil) != (name == "file") {
			t.Errorf("%s: %v, %v", name, r.ran, err)
		}
	}
}

// TestWindows: an automatic reboot waits for its window, without a slot. A command does not.
func TestWindows(t *testing.T) {
	r := newRig(t)
	r.turns(1, "", "", "")
	r.closed = "outside of the window nights"
	r.write("state-kernel", "5")
	r.turns(2, "", "", "the reboot waits: outside of the window nights")
	r.closed = ""
	r.turns(1, "shutdown -r +5", "self", "reboots in")
	r.closed = "outside of the window nights"
	r.turns(1, "shutdown -c", "", "")
	r.write(CommandRequest, "0")
	r.turns(1, "systemctl reboot", "self", "reboots in")
}

// TestExempt: an exemption lets an automatic reboot begin outside of the windows, with a slot. When the exemption ends,
// the reboot is cancelled. Without an answer of a hub, the last answer counts as long as the lease.
func TestExempt(t *testing.T) {
	r := newRig(t)
	r.turns(1, "", "", "")
	r.closed, r.exempt, r.owner = "outside of the window nights", true, "web2"
	r.write("state-kernel", "15")
	r.turns(2, "", "web2", "the reboot waits for a slot of the lock reboots, held by web2")
	r.owner = ""
	const scheduled = "the host reboots in 15m0s outside of its windows because of an exemption, with a slot"
	r.turns(1, "shutdown -r +15", "self", scheduled)
	mustWrite(t, r.Host, scheduledFile)
	r.away = true
	r.turns(2, "", "self", scheduled)
	r.now = r.now.Add(10 * time.Minute)
	r.turns(1, "shutdown -c", "self", "the reboot waits for a hub")
	r.away, r.exempt = false, false
	r.turns(2, "", "", "the reboot waits: outside of the window nights")

	r.exempt = true
	r.turns(1, "shutdown -r +15", "self", scheduled)
	r.exempt = false
	r.turns(1, "shutdown -c", "", "")
	r.turns(1, "", "", "the reboot waits: outside of the window nights")

	r.exempt = true
	r.turns(1, "shutdown -r +15", "self", scheduled)
	r.boots("boot1", r.State, r.Host) // the new agent does not know the exemption
	r.away = true
	r.turns(1, "shutdown -c", "self", "could not yet release its slot")
	r.away, r.closed = false, ""
	r.turns(1, "shutdown -r +15", "self", "the host reboots in 15m0s, with a slot")
	r.closed, r.away = "outside of the window nights", true // an earlier exemption does not count
	r.turns(1, "shutdown -c", "self", "could not yet release its slot")
}

// TestTokens: a host releases the slot of its last grant. If the answer was lost, it does not know the token, and
// releases any slot.
func TestTokens(t *testing.T) {
	r := newRig(t)
	sent := []uint64{}
	ask := r.Ask
	r.Ask = func(ctx context.Context, q fleet.RebootRequest) (fleet.RebootSlot, error) {
		if q.Action == fleet.RebootRelease {
			sent = append(sent, q.Token)
		}
		return ask(ctx, q)
	}
	r.turns(1, "", "", "")
	for i := range 2 {
		r.write("state-kernel", "5")
		r.turns(1, "shutdown -r +5", "self", "reboots in")
		if i == 1 { // an operator released the slot, and the answer to the next request is lost
			r.owner, r.lost = "", true
			r.turns(1, "", "self", "reboots in")
		}
		r.remove("state-kernel")
		r.turns(1, "shutdown -c", "", "")
	}
	if !slices.Equal(sent, []uint64{1, 0}) {
		t.Errorf("released with the tokens %v", sent)
	}
}
