package members

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Cache contains the members of the fleet at the last run of a hub. It needs them to find its fleet.
type Cache struct {
	Format  string           `json:"format"` // fettle.circle/1
	Members []records.Member `json:"members"`
}

const (
	// CacheFile is the name of the file of a Cache in the directory of a hub.
	CacheFile       = "hubs.json"
	peerCacheFormat = "fettle.circle/1"
	// RetiredFile exists if this hub has left its fleet. The systemd unit checks it too.
	RetiredFile = "retired"
)

// readCache reads the peer cache. It returns nil for a hub that is alone.
func readCache(files host.FS, dir string) (*Cache, error) {
	if is, err := host.Exists(files, host.JoinPath(dir, RetiredFile)); err != nil || is {
		return nil, cmp.Or(err,
			fmt.Errorf("cannot run: %w. To use this host as a hub again, move %s away and join with a new token",
				ErrRetired, dir))
	}
	file := host.JoinPath(dir, CacheFile)
	text, err := smallfile.Read(files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var c Cache
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c.Format != peerCacheFormat {
		err = fmt.Errorf("its format is %.40q", c.Format)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return &c, nil
}

// Write writes the file, if its content differs.
func (c Cache) Write(files host.FS, dir string) error {
	c.Format = peerCacheFormat
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	file := host.JoinPath(dir, CacheFile)
	if was, err := smallfile.Read(files, file); err == nil && bytes.Equal(was, append(text, '\n')) {
		return nil
	}
	return smallfile.Write(files, file, append(text, '\n'))
}

// ErrRetired is wrapped by the error of a hub that has left its fleet.
var ErrRetired = errors.New("this hub was retired")
