package accountfile

import (
	"context"
	"errors"
	"io/fs"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// useradd and groupadd write passwd and group first. A power cut after that
// leaves an account that looks as wanted and has no line in the other files.
// Whoever sets it once more gets them.

// completeGroup gives a group the line in gshadow that it lacks.
func (e *edit) completeGroup(name string) error {
	if _, ok := e.now[GShadow].first(name); !ok && !e.gone[GShadow] {
		e.now[GShadow] = e.now[GShadow].with(name, name+":!::", "")
	}
	return nil
}

// completeUser makes a user once more, under its number, where the first
// attempt came only to some of the files. It stays in its groups.
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

// wholeUser tells whether a user has what every user has: a line in shadow, and
// its own group and home if it was to get them.
func (db *DB) wholeUser(name string, now image.User, create host.NewUser) (bool, error) {
	shadow, there, err := db.load(Shadow)
	if errors.Is(err, fs.ErrPermission) {
		return true, nil // whoever may not look made nothing here
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
