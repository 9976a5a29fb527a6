package fleet

import (
	"cmp"
	"fmt"
	"strings"
)

// HubLoad is the work of a hub. A negative number is unknown.
type HubLoad struct {
	Connections int     `json:"connections"` // agents that are connected to the hub
	CPU         float64 `json:"cpu"`         // used part of the CPUs that the hub can use, from 0 to 1
	EventLag    int64   `json:"event_lag"`   // events of the log that the read model of the hub lacks
	Handshakes  int     `json:"handshakes"`  // connections that wait for their handshake
	DiskFree    float64 `json:"disk_free"`   // free part of the disk of the hub, from 0 to 1
	// DiskFreeBytes is the free space of this disk.
	DiskFreeBytes int64   `json:"disk_free_bytes"`
	MemoryFree    float64 `json:"memory_free"` // available part of the memory of the host, from 0 to 1
	// ConnectionLimit is the maximum number of connected agents, and CertificateUntil the time at which the first
	// certificate of the hub expires, in seconds since 1970. 0 is unknown.
	ConnectionLimit  int   `json:"connection_limit"`
	CertificateUntil int64 `json:"certificate_until"`
}

// lowDisk is the free part of a disk below which String shows it.
const lowDisk = 0.2

// String describes the load for users, without the connections. It shows the CPUs, and other numbers that are higher
// than usual. It is "-" if there are none.
func (l HubLoad) String() string {
	var all []string
	add := func(yes bool, format string, number any) {
		if yes {
			all = append(all, fmt.Sprintf(format, number))
		}
	}
	add(l.CPU >= 0, "CPU %.0f%%", l.CPU*100)
	add(l.EventLag > 0, "%d events behind", l.EventLag)
	add(l.Handshakes > 0, "%d handshakes wait", l.Handshakes)
	add(l.DiskFree >= 0 && l.DiskFree < lowDisk, "%.0f%% of disk free", l.DiskFree*100)
	return cmp.Or(strings.Join(all, ", "), "-")
}
