package member

import (
	"path"

	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
)

// loadReturns reads the contents to which the host may return. Without a file it may return to none.
func loadReturns(files host.FS, dir string) (content.Returns, error) {
	return loadOptional(files, returnsFile(dir), content.Returns{}, content.ParseReturns)
}

// saveReturns replaces the contents durably.
func saveReturns(files host.FS, dir string, r content.Returns) error {
	text, err := r.Marshal()
	if err != nil {
		return err
	}
	return durable.Replace(files, returnsFile(dir), text)
}

func returnsFile(dir string) string { return path.Join(dir, "returns.json") }
