package local

import (
	"os/exec"
	"path/filepath"
)

// FindProgram returns the path of a program as StartStream would run it, with links resolved.
func FindProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
