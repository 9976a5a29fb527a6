package apply

import (
	"fmt"
	"path"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/step"
)

// madeHome records in the before-image of a new account that its home directory was created with it,
// so that the undo removes both.
func (r *homes) madeHome(from, after image.Image, s step.Step) image.Image {
	if from.User() == nil || from.User().Present || after.User() == nil || !after.User().Present ||
		s.Get("create_home") != "true" || r.existed {
		return from
	}
	u := *from.User()
	u.HomeMade = true
	return image.Of(&u)
}

// homeWith removes a home directory together with its account, or restores it with the account. It
// returns the before-image, which contains the whole directory.
func (r *homes) homeWith(i int, from, to image.Image) (image.Image, error) {
	r.existed = false
	if from.User() == nil || to.User() == nil || from.User().Present == to.User().Present {
		return from, nil
	}
	if to.User().Present {
		_, err := r.Host.Lstat(to.User().Home)
		r.existed = err == nil
		if r.existed || to.User().HomeDir == nil || r.machine.Back {
			return from, nil
		}
		err = r.moveHome(i, to.User().Home, capture.Taken{File: image.File{Type: image.Absent}}, *to.User().HomeDir)
		return from, err
	}
	home := from.User().Home
	if !to.User().HomeMade || path.Clean(home) == "/" {
		return from, nil
	}
	taken, err := capture.TakeTree(r.Host, r.Store, home)
	if err != nil {
		return from, fmt.Errorf("cannot save the home directory: %w", err)
	}
	u := *from.User()
	if taken.Type != image.Directory {
		for _, pm := range r.effects[i].moves { // an interrupted attempt removed it
			u.HomeDir = &pm.from
		}
		return image.Of(&u), nil
	}
	u.HomeDir = &taken.File
	return image.Of(&u), r.moveHome(i, home, taken, image.File{Type: image.Absent})
}

func (r *homes) moveHome(i int, home string, from capture.Taken, to image.File) error {
	temp := move.TempFor(home, r.header.Run, i, r.machine.Back)
	b := &move.Batch{Moves: []*move.Move{{Change: i, Path: home, From: from, To: to, Temp: temp}}}
	if _, err := r.batches.commit(b, r.machine.Back); err != nil {
		return fmt.Errorf("cannot move the home directory: %w", err)
	}
	return nil
}

// home restores a home directory that was removed with its account.
func (r *homes) home(i int, pm pathMove) error {
	m, err := r.batches.backMove(i, pm)
	if err != nil || m == nil {
		return err
	}
	_, err = r.batches.commit(&move.Batch{Moves: []*move.Move{m}}, true)
	return err
}

// homeMade reports whether the change creates an account with its home directory.
func (r *homes) homeMade(i int) bool {
	from := r.effects[i].from.User()
	return from != nil && !from.Present && from.HomeMade && r.effects[i].to.User() != nil
}

// homeAway stores and removes the home directory that an interrupted attempt created. Its owner and
// content may not be on the disk, and tools do not change an existing home directory.
func (r *homes) homeAway(i int) error {
	home := r.effects[i].to.User().Home
	taken, err := capture.TakeTree(r.Host, r.Store, home)
	if err != nil || taken.Type != image.Directory || path.Clean(home) == "/" {
		return err
	}
	away := &move.Move{Change: i, Path: home, From: taken, To: image.File{Type: image.Absent},
		Temp: move.TempFor(home, r.header.Run, i, true)}
	_, err = r.batches.commit(&move.Batch{Moves: []*move.Move{away}}, true)
	return err
}
