package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/accountfile"
	"fettle.dev/fettle/internal/image"
)

// Accounts implements host.Host. useradd and similar tools of the local host create accounts below
// the root; all other changes are edits of the files.
func (h *Host) Accounts() host.Accounts { return h.accounts() }

func (h *Host) accounts() *accountfile.DB {
	return accountfile.New(h, h.lockAccounts, tools{h})
}

const (
	accountLock     = "/etc/.pwd.lock" // of lckpwdf(3)
	accountLockWait = 15 * time.Second
	accountLockPoll = 20 * time.Millisecond
)

// unlocked is the lock of a root whose account files no other process edits.
type unlocked struct{}

func (unlocked) Close() error { return nil }

// lockAccounts is lckpwdf. On another root, where that file may be missing, no
// other program expects it and none is made.
func (h *Host) lockAccounts() (io.Closer, error) {
	p, err := h.fresh("lock", accountLock)
	if err != nil {
		return nil, err
	}
	defer p.done()
	flags := unix.O_RDWR | unix.O_NOFOLLOW
	if h.root == "/" {
		flags |= unix.O_CREAT
	}
	fd, err := openRetry(p.fd, p.base, flags, 0o600)
	if err == unix.ENOENT {
		return unlocked{}, nil
	}
	if err != nil {
		return nil, failed("lock", accountLock, err)
	}
	f := h.newFile(fd, accountLock)
	if err := waitLock(fd); err != nil {
		return nil, errors.Join(failed("lock", accountLock, err), f.Close())
	}
	return f, nil
}

// waitLock takes a lock that belongs to the descriptor and excludes the
// process-wide locks of other programs.
func waitLock(fd int) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: 0}
	for deadline := time.Now().Add(accountLockWait); ; time.Sleep(accountLockPoll) {
		err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock)
		if (err != unix.EAGAIN && err != unix.EACCES) || time.Now().After(deadline) {
			return err
		}
	}
}

// tools is the Maker that runs the programs of the package passwd.
type tools struct{ h *Host }

func (t tools) CreateUser(ctx context.Context, name string, to image.User, create host.NewUser) error {
	argv, err := t.newUser(name, to, create)
	if err != nil {
		return err
	}
	return t.run(ctx, "make user", name, "useradd", argv)
}

func (t tools) newUser(name string, to image.User, create host.NewUser) ([]string, error) {
	argv := []string{"-c", to.Comment, "-M"}
	if create.CreateHome {
		argv[2] = "-m"
	}
	if create.System {
		argv = append(argv, "-r")
	}
	if !create.AutoUID {
		argv = append(argv, "-u", number(to.UID))
	}
	if to.Home != "" {
		argv = append(argv, "-d", to.Home)
	}
	if to.Shell != "" {
		argv = append(argv, "-s", to.Shell)
	}
	if !create.OwnGroup && !(create.AutoUID && to.GID == 0) {
		return append(argv, "-g", number(to.GID)), nil
	}
	own, err := t.h.accounts().Group(name)
	if own.Present {
		return append(argv, "-g", number(own.GID)), err
	}
	return append(argv, "-U"), err
}

func (t tools) ChangeUser(ctx context.Context, name string, now, to image.User, create host.NewUser) error {
	var argv []string
	change := func(differs bool, option, value string) {
		if differs {
			argv = append(argv, option, value)
		}
	}
	change(now.UID != to.UID, "-u", number(to.UID))
	change(now.GID != to.GID, "-g", number(to.GID))
	change(now.Comment != to.Comment, "-c", to.Comment)
	change(now.Home != to.Home, "-d", to.Home)
	change(now.Shell != to.Shell, "-s", to.Shell)
	return t.run(ctx, "change user", name, "usermod", argv)
}

func (t tools) CreateGroup(ctx context.Context, name string, to image.Group, system bool) error {
	var argv []string
	if system {
		argv = append(argv, "-r")
	}
	if to.GID != 0 || name == "root" {
		argv = append(argv, "-g", number(to.GID))
	}
	return t.run(ctx, "make group", name, "groupadd", argv)
}

// ChangeGroup edits the files of another root itself, because groupmod compares the number with the
// local host's groups even with a prefix.
func (t tools) ChangeGroup(ctx context.Context, name string, to image.Group) error {
	if t.h.root != "/" {
		return accountfile.Plain{DB: t.h.accounts()}.ChangeGroup(ctx, name, to)
	}
	return t.run(ctx, "change group", name, "groupmod", []string{"-g", number(to.GID)})
}

// Today implements accountfile.Maker.
func (t tools) Today() string { return strconv.FormatInt(time.Now().Unix()/(24*60*60), 10) }

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// run runs a tool of the local host on the account files of the root.
func (t tools) run(ctx context.Context, what, name, tool string, argv []string) error {
	machine := t.h
	if t.h.root != "/" {
		argv = slices.Insert(slices.Clone(argv), 0, "--prefix", t.h.root)
		outer, err := Open("/", Options{})
		if err != nil {
			return err
		}
		defer outer.Close()
		machine = outer
	}
	if err := t.h.op(host.OpRun, tool); err != nil {
		return err
	}
	argv = append(append([]string{tool}, argv...), "--", name)
	res, err := machine.Run(ctx, host.Command{Argv: argv})
	t.h.dirs.dropAll()
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("%s ended with %d: %s", tool, res.ExitCode, strings.TrimSpace(string(res.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", what, name, err)
	}
	return nil
}

// become is the credential and home of one of the host's own users.
func (h *Host) become(name string) (*syscall.Credential, string, error) {
	u, err := h.accounts().User(name)
	if err == nil && !u.Present {
		err = errors.New("there is no such user; create it first")
	}
	if err == nil && h.who.uid != 0 && u.UID != h.who.uid {
		err = errors.New("that needs privileges; run as root")
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot run as user %q: %w", name, err)
	}
	if h.who.uid != 0 {
		return nil, u.Home, nil
	}
	groups, err := h.groupsOf(name)
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: groups}, u.Home, err
}

func (h *Host) groupsOf(name string) ([]uint32, error) {
	entries, err := h.accounts().Fields(accountfile.Group)
	var out []uint32
	for _, f := range entries {
		if len(f) != 4 || !slices.Contains(strings.Split(f[3], ","), name) {
			continue
		}
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("cannot read group %q: %w", f[0], err)
		}
		out = append(out, uint32(gid))
	}
	return out, err
}
