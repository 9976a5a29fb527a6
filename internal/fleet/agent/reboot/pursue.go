package reboot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// request is a request for a reboot.
type request struct {
	file    string
	delay   time.Duration
	command bool // of a user
}

// request returns a request, preferably of a user; nil: there is none. It removes requests that have ended.
func (k *Keeper) request() (*request, error) {
	names, err := k.Host.ReadDir(Requests)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = errors.Join(k.own(path.Dir(Requests), 0o022), k.own(Requests, 0o077))
	}
	if err != nil {
		return nil, err
	}
	var out *request
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		r, live, err := k.parse(path.Join(Requests, name))
		switch {
		case err != nil:
			return nil, err
		case !live:
			if err := smallfile.Remove(k.Host, r.file); err != nil {
				return nil, err
			}
		case out == nil || r.command:
			out = &r
		}
	}
	return out, err
}

// parse reads a request. It is not live if it cannot be understood, or if its end has passed.
func (k *Keeper) parse(file string) (r request, live bool, err error) {
	r = request{file: file, command: path.Base(file) == CommandRequest}
	text, err := smallfile.Read(k.Host, file)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if foreign := k.own(file, 0); err == nil && foreign != nil {
		k.Warn("removed a request for a reboot: " + foreign.Error())
		return r, false, nil
	}
	words := append(strings.Fields(string(text)), "", "")
	minutes, bad := strconv.ParseUint(words[0], 10, 16)
	end, badEnd := strconv.ParseInt(cmp.Or(words[1], "0"), 10, 64)
	if err != nil || bad != nil || badEnd != nil {
		return r, false, err
	}
	r.delay = time.Duration(minutes) * time.Minute
	return r, end == 0 || k.Now().Unix() < end, nil
}

// own returns an error if the file or directory has another owner than /run, or if its mode has a denied bit.
func (k *Keeper) own(file string, denied uint32) error {
	run, err := k.Host.Lstat(path.Dir(path.Dir(Requests)))
	if err != nil {
		return err
	}
	st, err := k.Host.Lstat(file)
	if err != nil {
		return err
	}
	if st.UID != run.UID || st.Mode&denied != 0 {
		return fmt.Errorf("%s has the owner %d and the mode %04o: only root may write it", file, st.UID, st.Mode)
	}
	return nil
}

// pursue acquires a slot and reboots the host.
func (k *Keeper) pursue(ctx context.Context, is kept, r request) (time.Duration, error) {
	if open, wait, err := k.open(ctx, is, r); !open {
		return wait, err
	}
	if is.Holds == "" && is.Lock != "" {
		is.Holds, is.Boot = is.Lock, k.Boot
		if err := k.save(is); err != nil {
			return 0, err
		}
	}
	slot, err := k.Ask(ctx, fleet.RebootRequest{Action: fleet.RebootAcquire, Lock: is.Holds})
	if err != nil || slot.Granted {
		if err := k.remember(&is, slot.Token); err != nil {
			return 0, err
		}
	}
	switch {
	case err != nil:
		return k.unanswered(ctx, is, err)
	case slot.Lock != is.Holds:
		return k.replaced(ctx, is, slot.Lock)
	case slot.Lock != "" && !slot.Granted:
		k.cancel(ctx, is)
		is.free()
		return againEvery, errors.Join(k.save(is), k.tell("the reboot "+slot.Why))
	}
	k.expires = k.Now().Add(time.Duration(slot.Lease))
	if k.scheduled.IsZero() {
		return k.schedule(ctx, is, r)
	}
	return k.await(r)
}

// open reports whether the windows, or an exemption from them, let the host reboot now. Otherwise the reboot waits.
// Without an answer, a reboot with a slot continues under an exemption until its lease ends.
func (k *Keeper) open(ctx context.Context, is kept, r request) (open bool, wait time.Duration, err error) {
	if k.outside = k.Closed(); k.outside == "" || r.command {
		k.outside, k.exempt = "", false
		return true, 0, nil
	}
	slot, err := k.Ask(ctx, fleet.RebootRequest{Action: fleet.RebootLock})
	if err != nil && k.exempt && is.Holds != "" {
		wait, err = k.unanswered(ctx, is, err)
		return false, wait, err
	}
	if k.exempt = err == nil && slot.Exempt; k.exempt {
		return true, 0, nil
	}
	if is.Holds != "" {
		wait, err = k.withdraw(ctx, is)
		return false, wait, err
	}
	return false, againEvery, k.tell("the reboot waits: " + k.outside)
}

// replaced releases the slot of a lock that no longer limits reboots. The next turn acquires a slot of the other lock.
func (k *Keeper) replaced(ctx context.Context, is kept, lock string) (time.Duration, error) {
	if is.Holds != "" {
		if _, err := k.Ask(ctx, is.releasing()); err != nil {
			return k.unanswered(ctx, is, err)
		}
	}
	is.Lock, is.Holds, is.Boot, is.Token = lock, lock, k.Boot, 0
	return lookEvery, k.save(is)
}

// unanswered cancels a scheduled reboot if its lease ends before it, or if this is unknown.
func (k *Keeper) unanswered(ctx context.Context, is kept, err error) (time.Duration, error) {
	if k.Now().Add(2 * againEvery).After(k.expires) {
		k.cancel(ctx, is)
		is.Scheduled = false
		if err := k.save(is); err != nil {
			return 0, err
		}
	}
	if !k.scheduled.IsZero() {
		return againEvery, nil
	}
	return againEvery, k.tell(fmt.Sprintf("the reboot waits for a hub, which grants slots of the lock %s: %v", is.Holds,
		err))
}

// schedule begins the reboot. If this fails, it releases the slot.
func (k *Keeper) schedule(ctx context.Context, is kept, r request) (time.Duration, error) {
	argv := []string{"systemctl", "reboot"}
	if r.delay > 0 {
		argv = []string{"shutdown", "-r", fmt.Sprintf("+%d", r.delay/time.Minute)}
	}
	if is.Scheduled = is.Holds != ""; is.Scheduled {
		if err := k.save(is); err != nil {
			return 0, err
		}
	}
	text := "the host reboots in " + r.delay.String()
	if k.outside != "" {
		text += " outside of its windows because of an exemption"
	}
	if is.Holds != "" {
		text += ", with a slot of the lock " + is.Holds
	}
	if err := k.tell(text); err != nil {
		return 0, err
	}
	if err := k.Command(ctx, argv); err != nil {
		_, released := k.release(ctx, is)
		return failedWait, errors.Join(released, k.tell("the reboot failed: "+err.Error()))
	}
	k.scheduled = k.Now().Add(r.delay)
	return lookEvery, nil
}

// await ends the request if a user cancelled the reboot, or if the host did not go down.
func (k *Keeper) await(r request) (time.Duration, error) {
	now := k.Now()
	_, err := k.Host.Lstat(scheduledFile)
	cancelled := r.delay > 0 && now.Add(lookEvery).Before(k.scheduled) && errors.Is(err, fs.ErrNotExist)
	if !cancelled && now.Before(k.scheduled.Add(stuckAfter)) {
		return againEvery, nil
	}
	if !cancelled {
		k.Warn(fmt.Sprintf("the host did not go down within %s after its reboot", stuckAfter))
	}
	return 0, smallfile.Remove(k.Host, r.file) // the next turn releases the slot
}
