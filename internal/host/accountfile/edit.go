package accountfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/image"
)

// edit is one change of several files under the lock.
type edit struct {
	db   *DB
	now  map[string]lines // new content of each file
	had  map[string]string
	gone map[string]bool // there is no such file
}

// edit takes the lock, calls f to determine the new content of the files, and writes changed files.
func (db *DB) edit(f func(*edit) error) error {
	lock, err := db.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	e := &edit{db: db, now: map[string]lines{}, had: map[string]string{}, gone: map[string]bool{}}
	for _, file := range append(groupFiles(), userFiles()...) {
		l, ok, err := db.load(file)
		if err != nil {
			return err
		}
		e.now[file], e.had[file], e.gone[file] = l, l.String(), !ok
	}
	if err := f(e); err != nil {
		return err
	}
	return e.write()
}

// write writes the least important files first, and last the files that make an account exist.
func (e *edit) write() error {
	for _, file := range append(groupFiles(), userFiles()...) {
		content := e.now[file].String()
		if content == e.had[file] {
			continue
		}
		if err := e.db.rewrite(file, content, e.gone[file]); err != nil {
			return err
		}
	}
	return nil
}

func (e *edit) removeUser(name string, ownGroup bool) error {
	for _, file := range userFiles() {
		e.now[file] = e.now[file].without(name)
	}
	for _, line := range e.now[Group] {
		e.place(name, fields(line)[0], positions{-1, -1, -1})
	}
	if g, ok := e.now[Group].first(name); ok && ownGroup && len(g) == 4 && g[3] == "" && e.primaryOf(g[2]) == "" {
		e.dropGroup(name)
	}
	return nil
}

// primaryOf returns a user with the group as primary group, "" if there is none.
func (e *edit) primaryOf(gid string) string {
	for _, line := range e.now[Passwd] {
		if f := fields(line); len(f) == 7 && f[3] == gid {
			return f[0]
		}
	}
	return ""
}

// groupOf is a group with this number, "" for none.
func (e *edit) groupOf(gid string) string {
	for _, line := range e.now[Group] {
		if f := fields(line); len(f) == 4 && f[2] == gid {
			return f[0]
		}
	}
	return ""
}

func (e *edit) dropGroup(name string) {
	for _, file := range groupFiles() {
		e.now[file] = e.now[file].without(name)
	}
}

func (e *edit) removeGroup(name string) error {
	g, ok := e.now[Group].first(name)
	if ok && len(g) == 4 {
		if user := e.primaryOf(g[2]); user != "" {
			return fmt.Errorf("cannot remove group %q: it is the primary group of user %q; remove or change the user first",
				name, user)
		}
	}
	e.dropGroup(name)
	return nil
}

func (e *edit) restore(name string, files []string, kept map[string]string) {
	for _, file := range files {
		text := kept[fileKey(file)]
		if kept[fileKey(file)+keyAt] == unread {
			continue
		}
		if have, _ := e.now[file].take(name); have != text {
			e.now[file] = e.now[file].with(name, text, kept[fileKey(file)+keyAt])
		}
	}
}

// restoreUser restores the lines, and the memberships if the account was absent. Otherwise
// memberships have their own addresses.
func (e *edit) restoreUser(name string, to image.User, present bool) error {
	e.restore(name, userFiles(), to.Lines)
	e.restoreOwnGroup(name, to.Lines)
	if present {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(to.Lines)) {
		group, ok := strings.CutPrefix(key, keyMember)
		if !ok {
			continue
		}
		p, err := parsePositions(to.Lines[key])
		if err != nil {
			return err
		}
		e.place(name, group, p)
	}
	return nil
}

// restoreOwnGroup restores the group that was removed with its user, or its previous number.
func (e *edit) restoreOwnGroup(name string, kept map[string]string) {
	if g, there := e.now[Group].first(name); there {
		old := fields(kept[keyOwnGroup+":"+fileKey(Group)])
		if len(g) == 4 && len(old) == 4 && e.groupOf(old[2]) == "" {
			e.now[Group] = e.now[Group].set(name, 2, old[2])
		}
		return
	}
	own := map[string]string{}
	for key, v := range kept {
		if file, ok := strings.CutPrefix(key, keyOwnGroup+":"); ok {
			own[file] = v
		}
	}
	if own[fileKey(Group)] != "" {
		e.restore(name, groupFiles(), own)
	}
}

func (e *edit) restoreGroup(name string, to image.Group) error {
	e.restore(name, groupFiles(), to.Lines)
	return nil
}

// place puts a user at these places of a group, -1 for none.
func (e *edit) place(user, group string, p positions) {
	for i, at := range []struct {
		file  string
		field int
	}{{Group, 3}, {GShadow, 2}, {GShadow, 3}} {
		f, ok := e.now[at.file].first(group)
		if !ok || len(f) != 4 {
			continue
		}
		list := members(f[at.field])
		if slices.Index(list, user) == p[i] {
			continue
		}
		list = slices.DeleteFunc(list, func(m string) bool { return m == user })
		if p[i] >= 0 {
			list = slices.Insert(list, min(p[i], len(list)), user)
		}
		e.now[at.file] = e.now[at.file].set(group, at.field, strings.Join(list, ","))
	}
}

// setPassword changes the hash, and the day on which it was changed: passwords
// grow old from then on.
func (e *edit) setPassword(name, hash string) error {
	f, ok := e.now[Shadow].first(name)
	if !ok || len(f) < 3 {
		return fmt.Errorf("cannot set the password of user %q: it has no line in %s", name, Shadow)
	}
	if f[1] == hash {
		return nil
	}
	e.now[Shadow] = e.now[Shadow].set(name, 1, hash).set(name, 2, e.db.maker.Today())
	return nil
}

func (e *edit) setMember(user, group string, present bool) error {
	g, _ := e.now[Group].first(group)
	p := positionsOf(user, g, e.now[GShadow])
	switch {
	case !present:
		p[0], p[2] = -1, -1
	case p[0] < 0 || p[2] < 0:
		p[0], p[2] = last(p[0]), last(p[2])
	}
	e.place(user, group, p)
	return nil
}

// last returns a place, or a place after all others for -1.
func last(place int) int {
	if place >= 0 {
		return place
	}
	return 1 << 30
}

func (e *edit) setMembers(group string, want []string) error {
	for _, file := range groupFiles() {
		if f, ok := e.now[file].first(group); ok && len(f) == 4 && !slices.Equal(members(f[3]), want) {
			e.now[file] = e.now[file].set(group, 3, strings.Join(want, ","))
		}
	}
	return nil
}
