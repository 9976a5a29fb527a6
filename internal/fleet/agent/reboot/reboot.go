// Package reboot reboots the host of an agent with a slot of the lock that limits reboots. It releases the slot when
// the host is ready again.
//
//	k := &reboot.Keeper{State: files, File: "/reboot.json", Host: root, Boot: boot, Ask: ask, Command: command, …}
//	k.Run(ctx)
//
// A request for a reboot is a file in the directory Requests. The agent creates the directory while the repository
// declares a lock for reboots. A program that finds no directory reboots the host itself.
//
// # Meaning
//
//   - Absence: without a lock for reboots, or without an agent, there is no directory, and reboots need no slot. An
//     agent that never reached a hub has no directory. Afterwards the last answer of a hub decides.
//   - Failure: if no hub answers, the host does not reboot. The agent asks again.
//   - Unknown: the agent stores that it may hold a slot before it asks for one. So it also releases a slot whose grant
//     it never received.
//   - Repetition: a host has one slot at most. The agent renews its lease until the host shuts down, so that the
//     delay of a reboot does not shorten the lease.
//   - Interruption: if the agent dies before the reboot, it continues after its next start in the same boot, and can
//     also cancel the reboot that it scheduled. After any boot, also after a power cut, it releases the slot when the
//     host is ready.
//   - Windows: an automatic reboot needs an open window, or an exemption by the last answer of a hub. If the window
//     closes, or the exemption ends, before the host goes down, the agent cancels the reboot and releases the slot. If
//     no hub answers meanwhile, the exemption counts until the lease ends. A new process of the agent asks first.
//   - Withdrawal: if the file is removed, or its end has passed, the agent cancels the reboot and releases the slot.
//   - Another owner: a FleetLock client with the same identity has the same slot. The first release frees it.
//     If another lock limits reboots from now on, the agent releases its slot of the first lock.
//   - Trust: a request, its directory and the parent of the directory must belong to root, like /run. Other
//     users must have no access to the directory, and must not be able to write to the parent. Otherwise the host
//     does not reboot.
package reboot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Paths on the host.
const (
	// Requests is the directory of requests. A file contains the delay in minutes, and optionally the Unix time at
	// which the request ends. Names with a dot at the beginning are ignored.
	Requests = "/run/fettle/reboots"
	// CommandRequest is the name of the file of a user's command. All others are automatic.
	CommandRequest = "command"
	// StatusFile contains one line about the reboot that waits; it is missing if none does.
	StatusFile = "/run/fettle/reboot-status"
	// scheduledFile exists while systemd has a scheduled reboot.
	scheduledFile = "/run/systemd/shutdown/scheduled"
)

// Keeper reboots a host. All fields are required. Run must be called once; the fields below Warn belong to it.
type Keeper struct {
	State host.FS // the state directory of the agent
	File  string  // in State
	Host  host.FS // the file system of the host
	Boot  string  // ID of the boot, from the kernel

	Ask     func(ctx context.Context, r fleet.RebootRequest) (fleet.RebootSlot, error)
	Command func(ctx context.Context, argv []string) error
	// NotReady and Closed return why the host is not ready after a boot, and why an automatic reboot must not begin
	// now; "" otherwise.
	NotReady, Closed func() string
	Now              func() time.Time
	Warn             func(text string)

	asked     time.Time // the last answer about the lock
	expires   time.Time // the end of the lease
	scheduled time.Time // the time of the scheduled reboot; zero: none
	outside   string    // why no window is open for the reboot; "": it needs no open window, or a window is open
	exempt    bool      // the last answer named an exemption
	told      string
}

// kept is the durable state.
type kept struct {
	// Lock limits reboots, by the last answer of a hub; "" means that reboots need no slot.
	Lock string `json:"lock,omitempty"`
	// Holds is the lock of which the host may hold a slot. Boot is the boot in which it was requested.
	Holds string `json:"holds,omitempty"`
	Boot  string `json:"boot,omitempty"`
	// Token is the token of the slot; 0 means that it is unknown.
	Token uint64 `json:"token,omitempty"`
	// Scheduled means that a reboot with the slot may be scheduled.
	Scheduled bool `json:"scheduled,omitempty"`
}

// The intervals of Run.
const (
	lookEvery  = 5 * time.Second // at the requests
	learnEvery = time.Minute     // whether there is a lock for reboots
	againEvery = 20 * time.Second
	failedWait = time.Minute
	// stuckAfter is the time after which a host that did not go down is not expected to do so.
	stuckAfter = 5 * time.Minute
)

// withdraw cancels a reboot that is not requested any more.
func (k *Keeper) withdraw(ctx context.Context, is kept) (time.Duration, error) {
	k.cancel(ctx, is)
	return k.release(ctx, is)
}

// release releases the slot, and repeats this until a hub answers.
func (k *Keeper) release(ctx context.Context, is kept) (time.Duration, error) {
	if is.Holds == "" {
		return lookEvery, k.tell("")
	}
	if _, err := k.Ask(ctx, is.releasing()); err != nil {
		return againEvery, k.tell("the host could not yet release its slot of the lock " + is.Holds + ": " + err.Error())
	}
	is.free()
	if err := k.save(is); err != nil {
		return 0, err
	}
	return lookEvery, k.tell("")
}

// tell writes the status for users.
func (k *Keeper) tell(text string) error {
	if text == k.told {
		return nil
	}
	var err error
	if text == "" {
		err = smallfile.Remove(k.Host, StatusFile)
	} else if err = smallfile.Directory(k.Host, path.Dir(StatusFile)); err == nil {
		err = smallfile.Write(k.Host, StatusFile, []byte(text+"\n"))
	}
	if err == nil {
		k.told = text
	}
	return err
}

// free forgets the slot.
func (is *kept) free() { is.Holds, is.Boot, is.Token, is.Scheduled = "", "", 0, false }

// releasing returns the request that releases the slot.
func (is *kept) releasing() fleet.RebootRequest {
	return fleet.RebootRequest{Action: fleet.RebootRelease, Lock: is.Holds, Token: is.Token}
}

// remember stores the token of the slot. After a request without an answer it is 0, because the hub may have granted
// another slot.
func (k *Keeper) remember(is *kept, token uint64) error {
	if is.Token == token {
		return nil
	}
	is.Token = token
	return k.save(*is)
}

func (k *Keeper) load() (is kept, err error) {
	text, err := smallfile.Read(k.State, k.File)
	if errors.Is(err, fs.ErrNotExist) {
		return kept{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &is)
	}
	if err != nil {
		err = fmt.Errorf("cannot read the state of reboots: %w", err)
	}
	return is, err
}

func (k *Keeper) save(is kept) error {
	text, err := json.Marshal(is)
	if err == nil {
		err = smallfile.Write(k.State, k.File, text)
	}
	return err
}

// cancel cancels a reboot that this agent scheduled, also before it was started again. If it fails, the host may
// reboot without a slot.
func (k *Keeper) cancel(ctx context.Context, is kept) {
	if k.scheduled.IsZero() && !is.Scheduled {
		return
	}
	k.scheduled = time.Time{}
	if err := k.Command(ctx, []string{"shutdown", "-c"}); err != nil {
		k.Warn("cannot cancel the reboot of this host: " + err.Error())
	}
}

// Holds reports whether a reboot may hold a slot of a lock. It is safe for concurrent use with Run.
func (k *Keeper) Holds(lock string) bool {
	is, err := k.load()
	return err != nil || is.Holds == lock
}
