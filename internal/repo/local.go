package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
)

// uploadPack lets git serve a repository of root to the user of this process. git itself refuses
// all owners except its own user, and Access has no configuration with exceptions. Root can change
// everything on this host anyway, so a repository of root adds no risk.
const uploadPack = "--upload-pack=git -c 'safe.directory=*' upload-pack"

// trusting adds to the arguments of a command that reads the source of r: for a repository on this
// host that belongs to root, it adds uploadPack. A repository of a third user is an error.
func (r Remote) trusting(args []string) ([]string, error) {
	i := slices.IndexFunc(args, func(a string) bool { return a == "fetch" || a == "ls-remote" })
	dir, ok := localDir(r.source)
	if r.access == nil || i < 0 || !ok {
		return args, nil
	}
	owner, foreign, err := foreignOwner(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return args, nil // git describes it
	case err != nil:
		return nil, err
	case foreign && owner != 0:
		return nil, fmt.Errorf("cannot read the repository %q: it belongs to user %s, and fettle runs as user %s. Give it to root, or read it with ssh or https",
			dir, userName(owner), userName(uint32(os.Geteuid())))
	}
	return slices.Insert(slices.Clone(args), i+1, uploadPack), nil
}

// localDir returns the git directory of a source on this host.
func localDir(source string) (dir string, ok bool) {
	if strings.HasPrefix(source, "file://") {
		u, err := url.Parse(source)
		if err != nil || u.Host != "" && u.Host != "localhost" {
			return "", false
		}
		source = u.Path
	}
	if !strings.HasPrefix(source, "/") {
		return "", false
	}
	// The order of git.
	for _, end := range []string{"/.git", "", ".git/.git", ".git"} {
		if isGitDir(source + end) {
			return source + end, true
		}
	}
	return source, true
}
