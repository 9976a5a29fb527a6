package accountfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Plain is the Maker that uses no tool: it writes the lines itself, with the
// number ranges that Debian has (1000 and up, 100 to 999 for system accounts).
type Plain struct{ DB *DB }

// NewPlain is a DB whose Maker is Plain.
func NewPlain(fs host.FS, lock func() (io.Closer, error)) *DB {
	db := New(fs, lock, nil)
	db.maker = Plain{DB: db}
	return db
}

// CreateUser implements Maker.
func (p Plain) CreateUser(ctx context.Context, name string, to image.User, create host.NewUser) error {
	var err error
	if to.UID, err = p.number("user", Passwd, name, to.UID, create.AutoUID, create.System); err != nil {
		return err
	}
	if create.OwnGroup || (create.AutoUID && to.GID == 0) {
		if to.GID, err = p.ownGroup(ctx, name, create.System); err != nil {
			return err
		}
	}
	if to.Home == "" {
		to.Home = "/home/" + name
	}
	if to.Shell == "" {
		to.Shell = "/bin/sh"
	}
	if err := p.makeHome(to, create.CreateHome); err != nil {
		return err
	}
	line := fmt.Sprintf("%s:x:%d:%d:%s:%s:%s", name, to.UID, to.GID, to.Comment, to.Home, to.Shell)
	if err := p.DB.Append(Shadow, name+":!:"+p.Today()+":0:99999:7:::"); err != nil {
		return err
	}
	return p.DB.Append(Passwd, line) // last: with it the account exists
}

// Today implements Maker: always the same day, so that results are reproducible.
func (p Plain) Today() string { return "19000" }

func (p Plain) makeHome(to image.User, wanted bool) error {
	if !wanted {
		return nil
	}
	there, err := host.Exists(p.DB.fs, to.Home)
	if err != nil || there && !p.begun(to.Home) {
		return err
	}
	if !there {
		if err := p.DB.fs.Mkdir(to.Home, 0o700); err != nil {
			return err
		}
	}
	n, err := p.DB.fs.OpenNode(path.Clean(to.Home))
	if err != nil {
		return err
	}
	return errors.Join(n.Chown(to.UID, to.GID), n.Close())
}

// begun reports whether a home is the result of an interrupted attempt: empty, and still owned by
// root.
func (p Plain) begun(home string) bool {
	st, err := p.DB.fs.Lstat(home)
	if err != nil || st.Type != image.Directory || st.UID != 0 || st.GID != 0 || st.Mode != 0o700 {
		return false
	}
	names, err := p.DB.fs.ReadDir(home)
	return err == nil && len(names) == 0
}

func (p Plain) ownGroup(ctx context.Context, name string, system bool) (uint32, error) {
	g, err := p.DB.Group(name)
	if err != nil || g.Present {
		return g.GID, err
	}
	if err := p.CreateGroup(ctx, name, image.Group{}, system); err != nil {
		return 0, err
	}
	g, err = p.DB.Group(name)
	return g.GID, err
}

// ChangeUser implements Maker.
func (p Plain) ChangeUser(_ context.Context, name string, now, to image.User, _ host.NewUser) error {
	if to.UID != now.UID {
		if _, err := p.number("user", Passwd, name, to.UID, false, false); err != nil {
			return err
		}
	}
	return p.DB.edit(func(e *edit) error {
		for i, v := range []string{number(to.UID), number(to.GID), to.Comment, to.Home, to.Shell} {
			e.now[Passwd] = e.now[Passwd].set(name, i+2, v)
		}
		return nil
	})
}

// CreateGroup implements Maker.
func (p Plain) CreateGroup(_ context.Context, name string, to image.Group, system bool) error {
	gid, err := p.number("group", Group, name, to.GID, to.GID == 0 && name != "root", system)
	if err != nil {
		return err
	}
	if err := p.DB.Append(GShadow, name+":!::"); err != nil {
		return err
	}
	return p.DB.Append(Group, fmt.Sprintf("%s:x:%d:", name, gid)) // last: with it the group exists
}

// ChangeGroup implements Maker. Users that have the group as their primary one
// keep it.
func (p Plain) ChangeGroup(_ context.Context, name string, to image.Group) error {
	if _, err := p.number("group", Group, name, to.GID, false, false); err != nil {
		return err
	}
	return p.DB.edit(func(e *edit) error {
		g, _ := e.now[Group].first(name)
		for _, line := range e.now[Passwd] {
			if f := fields(line); len(f) == 7 && len(g) == 4 && f[3] == g[2] {
				e.now[Passwd] = e.now[Passwd].set(f[0], 3, number(to.GID))
			}
		}
		e.now[Group] = e.now[Group].set(name, 2, number(to.GID))
		return nil
	})
}

// number checks a wanted uid or gid, or finds the first free one.
func (p Plain) number(what, file, name string, want uint32, auto, system bool) (uint32, error) {
	entries, err := p.DB.Fields(file)
	if err != nil {
		return 0, err
	}
	taken := map[string]string{}
	for _, f := range entries {
		if len(f) > 2 {
			taken[f[2]] = f[0]
		}
	}
	if !auto {
		if other := taken[number(want)]; other != "" && other != name {
			return 0, fmt.Errorf("cannot give %s %q the number %d: %q has it", what, name, want, other)
		}
		return want, nil
	}
	from, to := uint32(1000), uint32(60000)
	if system {
		from, to = 100, 1000
	}
	for n := from; n < to; n++ {
		if taken[number(n)] == "" {
			return n, nil
		}
	}
	return 0, fmt.Errorf("cannot create %s %q: every number from %d to %d is taken", what, name, from, to-1)
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
