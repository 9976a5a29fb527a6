package main

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"syscall"

	"fettle.dev/fettle/internal/fleet/owner"
)

// lookupUser finds a user of this host.
func lookupUser(name string) (owner.User, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return owner.User{}, fmt.Errorf("cannot use the user %s: %w", name, owner.ErrNoUser)
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	return owner.User{Name: name, UID: uint32(uid), GID: uint32(gid)}, errors.Join(uerr, gerr)
}

// become gives up root for a user, permanently.
func become(u owner.User) error {
	err := syscall.Setgroups(groupsOf(u))
	if err == nil {
		err = syscall.Setresgid(int(u.GID), int(u.GID), int(u.GID))
	}
	if err == nil {
		err = syscall.Setresuid(int(u.UID), int(u.UID), int(u.UID))
	}
	if err != nil {
		return fmt.Errorf("cannot become the user %s: %w", u.Name, err)
	}
	return nil
}

// groupsOf returns all groups of a user.
func groupsOf(u owner.User) []int {
	groups := []int{int(u.GID)}
	known, err := user.LookupId(strconv.Itoa(int(u.UID)))
	if err != nil {
		return groups
	}
	ids, err := known.GroupIds()
	if err != nil {
		return groups
	}
	for _, id := range ids {
		if n, err := strconv.Atoi(id); err == nil {
			groups = append(groups, n)
		}
	}
	return groups
}
