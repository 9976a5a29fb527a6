package local

import (
	"os/exec"
	"path/filepath"
)

// FindProgram is the file behind a program's name, as StartStream would take it, without
// links on the way.
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
