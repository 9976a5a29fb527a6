package accountfile

import (
	"context"
	"errors"
	"io/fs"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// useradd and groupadd write passwd and group first. A power cut after that leaves an account that
// seems to be in sync but has no line in the other files. Setting it again adds these lines.

// completeGroup adds a missing line of a group to gshadow.
func (e *edit) completeGroup(name string) error {
	if _, ok := e.now[GShadow].first(name); !ok && !e.gone[GShadow] {
		e.now[GShadow] = e.now[GShadow].with(name, name+":!::", "")
	}
	return nil
}

// completeUser creates a user again with the same number, if the first attempt wrote only some of
// the files. The user stays in its groups.
func (db *DB) completeUser(ctx context.Context, name string, now image.User, create host.NewUser) error {
	whole, err := db.wholeUser(name, now, create)
	if whole || err != nil {
		return err
	}
	err = db.edit(func(e *edit) error {
		for _, file := range userFiles() {
			e.now[file] = e.now[file].without(name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	create.AutoUID = false
	if err = db.maker.CreateUser(ctx, name, now, create); err == nil {
		return nil
	}
	back := db.edit(func(e *edit) error { return e.restoreUser(name, now, true) })
	return errors.Join(err, back)
}

// wholeUser reports whether a user is complete: it has a line in shadow, and its own group and home
// if they were requested.
func (db *DB) wholeUser(name string, now image.User, create host.NewUser) (bool, error) {
	shadow, there, err := db.load(Shadow)
	if errors.Is(err, fs.ErrPermission) {
		return true, nil // a caller without permission created nothing here
	}
	if err != nil {
		return false, err
	}
	if _, ok := shadow.first(name); there && !ok {
		return false, nil
	}
	if create.CreateHome && now.Home != "" {
		if home, err := host.Exists(db.fs, now.Home); err != nil || !home {
			return false, err
		}
	}
	group, _, err := db.load(Group)
	e := edit{now: map[string]lines{Group: group}}
	return !create.OwnGroup || e.groupOf(number(now.GID)) != "", err
}
