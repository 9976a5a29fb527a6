package repo

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// checkOwner refuses a repository of another user, as git does: the configuration in it decides
// about everything that fettle does as the user of this process. The work tree, the git directory,
// and the .git file of a linked work tree must belong to this user. Root under sudo also accepts the
// user that called sudo. safe.directory in git's configuration names exceptions.
func checkOwner(exe, gitDir, workTree string) error {
	paths, dir := []string{gitDir}, gitDir
	if workTree != "" {
		paths, dir = append(paths, workTree, filepath.Join(workTree, ".git")), workTree
	}
	for _, p := range paths {
		owner, foreign, err := foreignOwner(p)
		if err != nil {
			return fmt.Errorf("cannot open repository: %w", err)
		}
		if !foreign {
			continue
		}
		safe, err := isSafe(exe, dir)
		if err != nil || safe {
			return err
		}
		return fmt.Errorf(
			"cannot open repository %q: %q belongs to user %s, and fettle runs as user %s. If you trust this owner, run: %s",
			dir, p, userName(owner), userName(uint32(os.Geteuid())), trustCommand(dir))
	}
	return nil
}

// foreignOwner returns the owner of a file, or of the file that a link leads to, if this owner is
// not trusted.
func foreignOwner(name string) (owner uint32, foreign bool, err error) {
	for _, stat := range []func(string, *syscall.Stat_t) error{syscall.Lstat, syscall.Stat} {
		var st syscall.Stat_t
		if err := stat(name, &st); err != nil {
			return 0, false, &os.PathError{Op: "stat", Path: name, Err: err}
		}
		if !trustedOwner(st.Uid) {
			return st.Uid, true, nil
		}
	}
	return 0, false, nil
}

func trustedOwner(owner uint32) bool {
	if owner == uint32(os.Geteuid()) {
		return true
	}
	caller, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32)
	return os.Geteuid() == 0 && err == nil && owner == uint32(caller)
}

// isSafe reports whether safe.directory contains dir. An empty value removes all earlier values.
func isSafe(exe, dir string) (bool, error) {
	values, err := safeDirectories(exe)
	if err != nil {
		return false, fmt.Errorf("cannot open repository %q: cannot read safe.directory: %w", dir, err)
	}
	slices.Reverse(values)
	if i := slices.Index(values, ""); i >= 0 {
		values = values[:i]
	}
	return slices.ContainsFunc(values, func(v string) bool { return matchesSafe(v, dir) }), nil
}

// matchesSafe compares one value of safe.directory with a directory without links.
func matchesSafe(value, dir string) bool {
	if value == "*" {
		return true
	}
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		value = filepath.Join(homeDir(), rest)
	}
	parent, below := strings.CutSuffix(value, "/*")
	if !filepath.IsAbs(value) {
		return false
	}
	if parent == "" {
		parent = "/"
	}
	if real, err := filepath.EvalSymlinks(parent); err == nil {
		parent = real
	}
	parent = filepath.Clean(parent)
	if below {
		return dir != parent && strings.HasPrefix(dir, strings.TrimSuffix(parent, "/")+"/")
	}
	return dir == parent
}

func homeDir() string {
	if home := os.Getenv("HOME"); home != "" {
		return home
	}
	if u, err := user.LookupId(strconv.Itoa(os.Geteuid())); err == nil {
		return u.HomeDir
	}
	return "/nonexistent"
}

func userName(id uint32) string {
	text := strconv.FormatUint(uint64(id), 10)
	if u, err := user.LookupId(text); err == nil {
		return fmt.Sprintf("%q (%s)", u.Username, text)
	}
	return text
}

// trustCommand is the command for the configuration of the user of this process.
func trustCommand(dir string) string {
	command := "git config --global --add safe.directory " + shellWord(dir)
	if os.Geteuid() == 0 && os.Getenv("SUDO_UID") != "" {
		return "sudo " + command
	}
	return command
}

func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@,=", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// openFlags keep a name that was exchanged for a fifo or a link from being
// waited for or followed.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
