package image

// Unit is the state of a unit in systemd.
type Unit struct {
	Loaded bool   `json:"loaded"`           // a unit file exists
	State  string `json:"state,omitempty"`  // enabled, disabled, static, masked, …
	Active string `json:"active,omitempty"` // active, inactive, failed, …
	Masked bool   `json:"masked,omitempty"`
	// Restarting reports that systemd restarts the unit again and again, because it does not stay up.
	// Only observations of a host have it, not recorded images.
	Restarting bool `json:"-"`
}

// Restarting is the value of Active for a unit that should run, but that systemd restarts again and
// again because it does not stay up.
const Restarting = "restarting"

// Enabled reports whether the unit starts at boot.
func (u Unit) Enabled() bool { return u.State == "enabled" || u.State == "enabled-runtime" }
