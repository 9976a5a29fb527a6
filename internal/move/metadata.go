package move

import (
	"bytes"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// setMetadata changes the metadata of an inode from from to to. The order loses nothing:
//
//   - First it removes extended attributes, while they certainly exist.
//   - It sets the owner before the mode, because a change of owner clears set-id bits and
//     capabilities.
//   - It sets extended attributes after the mode, because a change of mode rewrites an ACL's mask.
//   - It sets inode attributes and times last.
func setMetadata(n host.Node, from, to image.File) error {
	if from.Attrs&fixed != 0 {
		if err := n.SetAttrs(from.Attrs &^ fixed); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from.Xattrs)) {
		if _, ok := to.Xattrs[name]; !ok {
			if err := n.RemoveXattr(name); err != nil {
				return err
			}
		}
	}
	st, err := n.Stat()
	if err != nil {
		return err
	}
	chowned := st.UID != to.UID || st.GID != to.GID
	if chowned {
		if err := n.Chown(to.UID, to.GID); err != nil {
			return err
		}
	}
	if to.Type != image.Symlink && (chowned || st.Mode != to.Mode) {
		if err := n.Chmod(to.Mode); err != nil {
			return err
		}
	}
	if err := setXattrs(n, from.Xattrs, to.Xattrs, chowned || st.Mode != to.Mode); err != nil {
		return err
	}
	return setLastMetadata(n, from, to)
}

// setXattrs sets the extended attributes of to. again sets those too that look
// the same, since a change of owner or mode may have touched them.
func setXattrs(n host.Node, from, to map[string][]byte, again bool) error {
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if old, ok := from[name]; !again && ok && bytes.Equal(old, to[name]) {
			continue
		}
		if err := n.SetXattr(name, to[name]); err != nil {
			return err
		}
	}
	return nil
}

func setLastMetadata(n host.Node, from, to image.File) error {
	if ns, known := to.ModTime(); known {
		if err := n.SetTimes(ns, ns); err != nil {
			return err
		}
	}
	if to.Attrs != from.Attrs || from.Attrs&fixed != 0 {
		return n.SetAttrs(to.Attrs)
	}
	return nil
}
