package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/notices"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Write writes a backup of the directory dir of a hub and of its state from SaveState.
func Write(files host.FS, dir string, state document.HubState, out io.Writer) error {
	b := Backup{Format: Format, Files: map[string]File{}, State: state}
	for _, directory := range []string{"", "authority", "keys", notices.Directory} {
		if err := b.add(files, dir, directory); err != nil {
			return fmt.Errorf("cannot save %s: %w", path.Join(dir, directory), err)
		}
	}
	return json.NewEncoder(out).Encode(b)
}

// add adds the files of one directory. It omits files that a hub creates again and files that are
// too large to be settings.
func (b *Backup) add(files host.FS, dir, directory string) error {
	names, err := files.ReadDir(path.Join(dir, directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		at := path.Join(directory, name)
		st, err := files.Lstat(path.Join(dir, at))
		if err != nil {
			return err
		}
		if st.Type != image.Regular || st.Size > smallfile.Max || !isSaved(at) {
			continue
		}
		text, err := smallfile.Read(files, path.Join(dir, at))
		if err != nil {
			return err
		}
		b.Files[at] = File{text, st.Mode&0o100 != 0}
	}
	return nil
}

// isSaved reports whether a backup contains a file of the directory. The cache of other hubs is
// omitted, because a restored hub starts alone. It also starts a new audit.log.
func isSaved(name string) bool {
	return !strings.HasPrefix(name, "view.db") && !strings.HasSuffix(name, ".new") &&
		!slices.Contains([]string{restoreFile, members.CacheFile, members.RetiredFile, "audit.log"}, name)
}
