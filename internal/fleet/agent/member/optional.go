package member

import (
	"errors"
	"io/fs"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// loadOptional reads and parses a file. Without the file, it returns absent.
func loadOptional[T any](files host.FS, file string, absent T, parse func([]byte) (T, error)) (T, error) {
	text, err := smallfile.Read(files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	return parse(text)
}
