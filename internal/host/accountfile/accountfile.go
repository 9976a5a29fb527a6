// Package accountfile reads and edits the account files below /etc of any host: passwd, shadow,
// group, gshadow, subuid and subgid. It works line by line, so that all other lines stay unchanged
// byte for byte.
//
//	db := accountfile.New(h, lock, maker)
//	before, err := db.User("bob")            // what is there now, lines included
//	err = db.SetUser(ctx, "bob", wanted, host.NewUser{})
//	err = db.SetUser(ctx, "bob", before, host.NewUser{}) // and exactly as before again
//
// The Maker creates new accounts: with useradd and similar tools on a real host. This package
// removes and restores accounts itself, because no tool can do that exactly. A crash between two
// files can leave an account incomplete. The same call again completes it, because passwd and group
// are written last.
package accountfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// The files.
const (
	Passwd  = "/etc/passwd"
	Shadow  = "/etc/shadow"
	Group   = "/etc/group"
	GShadow = "/etc/gshadow"
	SubUID  = "/etc/subuid"
	SubGID  = "/etc/subgid"
)

// Maker creates and changes accounts. now is the current state.
type Maker interface {
	CreateUser(ctx context.Context, name string, to image.User, create host.NewUser) error
	ChangeUser(ctx context.Context, name string, now, to image.User, create host.NewUser) error
	CreateGroup(ctx context.Context, name string, to image.Group, system bool) error
	ChangeGroup(ctx context.Context, name string, to image.Group) error
	// Today returns the day of the host, as shadow(5) defines it: since 1970.
	Today() string
}

// DB is the account files of one host. It implements host.Accounts. It is safe
// for concurrent use as far as lock excludes other writers.
type DB struct {
	fs    host.FS
	lock  func() (io.Closer, error)
	maker Maker
}

var _ host.Accounts = (*DB)(nil)

// New makes a DB. lock takes the lock of all programs that edit these files;
// it is not held while the Maker works.
func New(fs host.FS, lock func() (io.Closer, error), maker Maker) *DB {
	return &DB{fs: fs, lock: lock, maker: maker}
}

// SetUser implements host.Accounts.
func (db *DB) SetUser(ctx context.Context, name string, to image.User, create host.NewUser) error {
	if err := checkUser(name, to); err != nil {
		return err
	}
	hash := to.Password
	to.Password = ""
	err := db.setUser(ctx, name, to, create)
	if err != nil || hash == "" || !to.Present {
		return err
	}
	return db.edit(func(e *edit) error { return e.setPassword(name, hash) })
}

func (db *DB) setUser(ctx context.Context, name string, to image.User, create host.NewUser) error {
	now, err := db.User(name)
	if err != nil {
		return err
	}
	switch {
	case !to.Present:
		return db.edit(func(e *edit) error { return e.removeUser(name, to.Lines[keyOwnGroup] == ownGroupAbsent) })
	case to.Lines[fileKey(Passwd)] != "":
		return db.edit(func(e *edit) error { return e.restoreUser(name, to, now.Present) })
	case !now.Present:
		return db.maker.CreateUser(ctx, name, to, create)
	}
	create.OwnGroup = create.OwnGroup || create.AutoUID && to.GID == 0
	if to = fill(to, now, create); sameUser(now, to) {
		return db.completeUser(ctx, name, now, create)
	}
	return db.maker.ChangeUser(ctx, name, now, to, create)
}

// fill replaces unset fields of an image with the current values.
func fill(to, now image.User, create host.NewUser) image.User {
	if create.OwnGroup || (create.AutoUID && to.GID == 0) {
		to.GID = now.GID
	}
	if create.AutoUID {
		to.UID = now.UID
	}
	if to.Home == "" {
		to.Home = now.Home
	}
	if to.Shell == "" {
		to.Shell = now.Shell
	}
	return to
}

func sameUser(a, b image.User) bool {
	return image.Of(&a).Same(image.Of(&b))
}

// SetGroup implements host.Accounts.
func (db *DB) SetGroup(ctx context.Context, name string, to image.Group, system bool) error {
	now, err := db.Group(name)
	if err == nil {
		err = checkName(name)
	}
	if err != nil {
		return err
	}
	switch {
	case !to.Present:
		return db.edit(func(e *edit) error { return e.removeGroup(name) })
	case to.Lines[fileKey(Group)] != "":
		return db.edit(func(e *edit) error { return e.restoreGroup(name, to) })
	case !now.Present:
		err = db.maker.CreateGroup(ctx, name, to, system)
	case to.GID != now.GID && (to.GID != 0 || name == "root"):
		err = db.maker.ChangeGroup(ctx, name, to)
	default:
		err = db.edit(func(e *edit) error { return e.completeGroup(name) })
	}
	if err != nil || to.Members == nil {
		return err
	}
	return db.edit(func(e *edit) error { return e.setMembers(name, to.Members) })
}

// SetMember implements host.Accounts.
func (db *DB) SetMember(_ context.Context, user, group string, present bool) error {
	if err := errors.Join(checkName(user), checkName(group)); err != nil {
		return err
	}
	g, err := db.Group(group)
	if err != nil || (!present && !g.Present) {
		return err
	}
	if !g.Present {
		return fmt.Errorf("cannot add %q to group %q: there is no such group; create it first", user, group)
	}
	if u, err := db.User(user); err != nil || (present && !u.Present) {
		return errors.Join(err, fmt.Errorf("cannot add %q to group %q: there is no such user; create it first", user, group))
	}
	return db.edit(func(e *edit) error { return e.setMember(user, group, present) })
}

// checkName refuses names that would break the files' format or resemble an option.
func checkName(name string) error {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, ":,/\n\x00 \t") {
		return fmt.Errorf("cannot use account name %q: use letters, digits, '-', '_' and '.'", name)
	}
	return nil
}

func checkUser(name string, u image.User) error {
	if err := checkName(name); err != nil {
		return err
	}
	if strings.ContainsAny(u.Password, ":\n\r\x00 ") {
		return fmt.Errorf(
			"cannot set the password of user %q: the secret is not a hash of crypt(3); create one with mkpasswd", name)
	}
	for _, v := range []string{u.Comment, u.Home, u.Shell} {
		if strings.ContainsAny(v, ":\n\x00") {
			return fmt.Errorf("cannot give user %q the value %q: account files cannot contain ':' or a newline", name, v)
		}
	}
	return nil
}
