package secret

import (
	"fmt"
	"path"
	"strings"
)

// Directory is the directory of a repository's secrets, relative to its top.
const Directory = "secrets"

const suffix = ".age"

// CheckName checks the name of a secret. A name is the path of its file below Directory, without the
// suffix .age.
func CheckName(name string) error {
	if name == "" || path.Clean(name) != name || path.IsAbs(name) || strings.HasPrefix(name, ".") ||
		strings.ContainsAny(name, "\\\x00\n\r\t *?[") || len(name) > 200 {
		return fmt.Errorf("%q is not the name of a secret: write for example db/password, for the file %s", name,
			PathOf("db/password"))
	}
	return nil
}

// PathOf is the file of a secret, relative to the top of the repository.
func PathOf(name string) string { return Directory + "/" + name + suffix }

// NameOf is the secret of a file; ok is false for any other file.
func NameOf(file string) (name string, ok bool) {
	name, below := strings.CutPrefix(file, Directory+"/")
	name, is := strings.CutSuffix(name, suffix)
	return name, below && is && CheckName(name) == nil
}
