package fleet

// HubLoad is the work of a hub. A negative number is unknown.
type HubLoad struct {
	Connections int     `json:"connections"` // agents that are connected to the hub
	CPU         float64 `json:"cpu"`         // used part of the CPUs that the hub can use, from 0 to 1
	EventLag    int64   `json:"event_lag"`   // events of the log that the read model of the hub lacks
	Handshakes  int     `json:"handshakes"`  // connections that wait for their handshake
	DiskFree    float64 `json:"disk_free"`   // free part of the disk of the hub, from 0 to 1
}
