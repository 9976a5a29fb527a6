package members

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/host"
)

// Places returns HOST:PORT for each name or address, with the port of the listen address.
func Places(listen string, names []string) ([]string, error) {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", listen, err)
	}
	var out []string
	for _, n := range names {
		out = append(out, net.JoinHostPort(n, port))
	}
	return out, nil
}

func (h *core) holder() string {
	for _, m := range h.Records.Members.Values() {
		if m.Authority && len(m.HubURLs) > 0 {
			return "Join at " + m.HubURLs[0]
		}
	}
	return "Copy the key back into the directory authority/ of this hub"
}

// self returns the record of this hub for the shared settings.
func (h *core) self() (records.Member, error) {
	holds, err := host.Exists(h.Files, host.JoinPath(h.dir("authority"), "authority.key"))
	m := records.Member{Name: h.Hub, HubURLs: h.HubURLs, BusURLs: h.BusURLs, Domain: h.Domain, Authority: holds,
		Joined: h.Now().Unix()}
	if err != nil {
		return m, err
	}
	var hosts []string
	for _, u := range h.BusURLs {
		hosts = append(hosts, hostOf(u))
	}
	m.Cluster, err = Places(h.Listen, hosts)
	return m, err
}

// Addresses returns the URLs of all hubs and of their buses, this hub first. A retired hub is not among them.
func (h *core) Addresses() (hubs, buses []string) {
	if !h.isDismissed() {
		hubs, buses = slices.Clone(h.HubURLs), slices.Clone(h.BusURLs)
	}
	for _, m := range h.Records.Members.Values() {
		if m.Name != h.Hub {
			hubs, buses = append(hubs, m.HubURLs...), append(buses, m.BusURLs...)
		}
	}
	return hubs, buses
}

// hostOf returns the host of a URL.
func hostOf(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	return strings.Trim(rest, "[]")
}
