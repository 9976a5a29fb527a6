package members

import (
	"path"
	"slices"

	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// Open reads the file with the other hubs. The error wraps ErrRetired for a retired hub.
func (h *core) Open() (err error) {
	h.peers, err = readCache(h.Files, h.Dir)
	if err == nil && h.ExternalNats && h.peers == nil {
		h.peers = &Cache{} // other hubs may join at any time
	}
	return err
}

// Alone reports whether this hub started without other hubs.
func (h *core) Alone() bool { return h.peers == nil }

// Dismissed is closed when this hub is retired.
func (h *core) Dismissed() <-chan struct{} { return h.dismissed }

// isDismissed reports whether this hub is retired.
func (h *core) isDismissed() bool {
	select {
	case <-h.dismissed:
		return true
	default:
		return false
	}
}

func (h *core) dir(name string) string { return path.Join(h.Dir, name) }

// Log logs a message. A retired hub logs only that it is retired: the other hubs disconnect it, and
// many messages result from that.
func (h *core) Log(text string) {
	if !h.isDismissed() {
		h.Warn(text)
	}
}

// dismiss records durably that this hub is retired.
func (h *core) dismiss() {
	if err := smallfile.Write(h.Files, h.dir(RetiredFile),
		[]byte("this hub was retired: its fleet no longer trusts it, and this directory can be removed\n")); err != nil {
		h.Warn(err.Error())
	}
}

// IsMember reports whether this hub lists a hub of that name.
func (h *core) IsMember(name string) bool {
	if name == h.Hub {
		return true
	}
	select {
	case <-h.Filled:
		_, _, is := h.Records.Members.Get(name)
		return is
	default:
		return h.peers != nil && slices.ContainsFunc(h.peers.Members, func(m records.Member) bool { return m.Name == name })
	}
}
