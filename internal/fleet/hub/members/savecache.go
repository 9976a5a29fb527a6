package members

// SaveCache writes the peer cache of a hub that is not alone.
func (h *core) SaveCache() {
	h.cacheMu.Lock()
	defer h.cacheMu.Unlock()
	if h.peers == nil {
		return
	}
	if err := (Cache{Members: h.Records.Members.Values()}).Write(h.Files, h.Dir); err != nil {
		h.Log("cannot store the list of hubs: " + err.Error())
	}
}
