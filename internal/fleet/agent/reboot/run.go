package reboot

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// Run serves requests until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	if err := smallfile.Remove(k.Host, StatusFile); err != nil { // of an agent that ended
		k.Warn(err.Error())
	}
	for {
		wait, err := k.turn(ctx)
		if err != nil && ctx.Err() == nil {
			k.Warn("cannot handle a reboot: " + err.Error())
			wait = failedWait
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// turn performs the next actions, and returns the time until the next call.
func (k *Keeper) turn(ctx context.Context) (time.Duration, error) {
	is, err := k.load()
	if err != nil {
		return 0, err
	}
	if is.Holds != "" && is.Boot != k.Boot {
		return k.returned(ctx, is)
	}
	r, err := k.request()
	switch {
	case err != nil:
		return 0, err
	case r == nil && (is.Holds != "" || !k.scheduled.IsZero()):
		return k.withdraw(ctx, is)
	case r == nil:
		return k.learn(ctx, is)
	}
	return k.pursue(ctx, is, *r)
}

// returned releases the slot of a host that has booted, when it is ready.
func (k *Keeper) returned(ctx context.Context, is kept) (time.Duration, error) {
	if why := k.NotReady(); why != "" {
		return lookEvery, k.tell("the host keeps its slot of the lock " + is.Holds + " until it is ready: " + why)
	}
	return k.release(ctx, is)
}

// learn asks from time to time whether there is a lock for reboots.
func (k *Keeper) learn(ctx context.Context, is kept) (time.Duration, error) {
	wait := lookEvery
	if now := k.Now(); k.asked.IsZero() || now.Sub(k.asked).Abs() >= learnEvery {
		slot, err := k.Ask(ctx, fleet.RebootRequest{Action: fleet.RebootLock})
		if err == nil {
			k.asked = now
			err = k.learned(&is, slot.Lock)
		} else {
			err, wait = nil, againEvery
		}
		if err != nil {
			return 0, err
		}
	}
	if is.Lock == "" {
		wait = max(wait, againEvery)
	}
	return wait, errors.Join(k.directory(is.Lock), k.tell(""))
}

func (k *Keeper) learned(is *kept, lock string) error {
	if is.Lock == lock {
		return nil
	}
	is.Lock = lock
	return k.save(*is)
}

// directory creates the directory of requests if there is a lock, and removes it otherwise.
func (k *Keeper) directory(lock string) error {
	if lock != "" {
		return smallfile.Directory(k.Host, Requests)
	}
	err := k.Host.Remove(Requests)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}
