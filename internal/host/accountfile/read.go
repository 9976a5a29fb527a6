package accountfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/image"
)

// Keys of image.User.Lines and image.Group.Lines, in addition to the base names of the files.
// "FILE.at" has the numbers of the lines. "owngroup:FILE" and "owngroup:FILE.at" have the same for
// the group with the user's own name. "member:GROUP" has the places in that group's lists (see
// positions).
const (
	keyAt          = ".at"
	keyMember      = "member:"
	keyOwnGroup    = "owngroup" // of an absent user: whether its group existed; with ":FILE", its lines
	ownGroupAbsent = "absent"
	unread         = "unread" // instead of places: the file is not readable, so it stays
)

func fileKey(file string) string { return path.Base(file) }

// userFiles are written in this order; passwd, which decides, is last.
func userFiles() []string { return []string{SubUID, SubGID, Shadow, Passwd} }

func groupFiles() []string { return []string{GShadow, Group} }

// load reads a file in lines; ok is false when there is none.
func (db *DB) load(file string) (l lines, ok bool, err error) {
	f, err := db.fs.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, false, err
	}
	return splitLines(string(b)), true, nil
}

// User implements host.Accounts. Files that an unprivileged caller cannot read (shadow) are marked
// in Lines, and stay unchanged when the lines are restored.
func (db *DB) User(name string) (image.User, error) {
	if err := checkName(name); err != nil {
		return image.User{}, err
	}
	l, _, err := db.load(Passwd)
	if err != nil {
		return image.User{}, err
	}
	f, ok := l.first(name)
	if !ok {
		return db.noUser(name)
	}
	u, err := parseUser(name, f)
	if err != nil {
		return image.User{}, err
	}
	if u.Lines, err = db.keep(name, userFiles()); err != nil {
		return image.User{}, err
	}
	if err := db.keepOwnGroup(name, u); err != nil {
		return image.User{}, err
	}
	return u, db.keepMemberships(name, u.Lines)
}

// keepOwnGroup records the lines of the primary group with the user's own name: the group can be
// removed with the account, and must then be restored with it.
func (db *DB) keepOwnGroup(name string, u image.User) error {
	g, err := db.Group(name)
	if err != nil || !g.Present || g.GID != u.GID {
		return err
	}
	for k, v := range g.Lines {
		u.Lines[keyOwnGroup+":"+k] = v
	}
	return nil
}

// noUser returns an absent user, with the data that a later undo of its creation needs.
func (db *DB) noUser(name string) (image.User, error) {
	g, err := db.Group(name)
	if err != nil || g.Present {
		return image.User{}, err
	}
	return image.User{Lines: map[string]string{keyOwnGroup: ownGroupAbsent}}, nil
}

func parseUser(name string, f []string) (image.User, error) {
	if len(f) != 7 {
		return image.User{}, fmt.Errorf("cannot read user %q: its line in %s has %d fields, not 7", name, Passwd, len(f))
	}
	uid, err1 := strconv.ParseUint(f[2], 10, 32)
	gid, err2 := strconv.ParseUint(f[3], 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return image.User{}, fmt.Errorf("cannot read user %q in %s: %w", name, Passwd, err)
	}
	return image.User{Present: true, UID: uint32(uid), GID: uint32(gid), Comment: f[4], Home: f[5], Shell: f[6]}, nil
}

// Group implements host.Accounts.
func (db *DB) Group(name string) (image.Group, error) {
	if err := checkName(name); err != nil {
		return image.Group{}, err
	}
	l, _, err := db.load(Group)
	if err != nil {
		return image.Group{}, err
	}
	f, ok := l.first(name)
	if !ok {
		return image.Group{}, nil
	}
	if len(f) != 4 {
		return image.Group{}, fmt.Errorf("cannot read group %q: its line in %s has %d fields, not 4", name, Group, len(f))
	}
	gid, err := strconv.ParseUint(f[2], 10, 32)
	if err != nil {
		return image.Group{}, fmt.Errorf("cannot read group %q in %s: %w", name, Group, err)
	}
	g := image.Group{Present: true, GID: uint32(gid), Members: members(f[3])}
	g.Lines, err = db.keep(name, groupFiles())
	return g, err
}

// keep collects a name's lines and their places.
func (db *DB) keep(name string, files []string) (map[string]string, error) {
	out := map[string]string{}
	for _, file := range files {
		l, _, err := db.load(file)
		if errors.Is(err, fs.ErrPermission) {
			out[fileKey(file)+keyAt] = unread
			continue
		}
		if err != nil {
			return nil, err
		}
		if text, at := l.take(name); text != "" {
			out[fileKey(file)], out[fileKey(file)+keyAt] = text, at
		}
	}
	return out, nil
}

// keepMemberships records the place of the user in each group.
func (db *DB) keepMemberships(user string, into map[string]string) error {
	group, _, err := db.load(Group)
	if err != nil {
		return err
	}
	shadow, _, err := db.load(GShadow)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, line := range group {
		f := fields(line)
		if p := positionsOf(user, f, shadow); p.any() {
			into[keyMember+f[0]] = p.String()
		}
	}
	return nil
}

// positions are the places of a user in group's members and in gshadow's
// administrators and members, -1 for none.
type positions [3]int

func (p positions) any() bool { return p != positions{-1, -1, -1} }

func (p positions) String() string { return fmt.Sprintf("%d,%d,%d", p[0], p[1], p[2]) }

func parsePositions(s string) (positions, error) {
	p := positions{-1, -1, -1}
	for i, v := range strings.SplitN(s, ",", 3) {
		n, err := strconv.Atoi(v)
		if err != nil {
			return p, fmt.Errorf("cannot read the positions %q of a membership: %w", s, err)
		}
		p[i] = n
	}
	return p, nil
}

func positionsOf(user string, group []string, shadow lines) positions {
	p := positions{-1, -1, -1}
	if len(group) == 4 {
		p[0] = slices.Index(members(group[3]), user)
	}
	if f, ok := shadow.first(group[0]); ok && len(f) == 4 {
		p[1] = slices.Index(members(f[2]), user)
		p[2] = slices.Index(members(f[3]), user)
	}
	return p
}
