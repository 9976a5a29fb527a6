package image

// Unit is what systemd knows of a unit.
type Unit struct {
	Loaded bool   `json:"loaded"`           // a unit file exists
	State  string `json:"state,omitempty"`  // enabled, disabled, static, masked, …
	Active string `json:"active,omitempty"` // active, inactive, failed, …
	Masked bool   `json:"masked,omitempty"`
	// Restarting tells that the service manager starts it again and again because it does not
	// stay up. Only a look at a host has it, no image that is recorded.
	Restarting bool `json:"-"`
}

// Restarting is what Active says of a unit that a step wants running, and that the service manager
// starts again and again because it does not stay up.
const Restarting = "restarting"

// Enabled tells whether the unit starts at boot.
func (u Unit) Enabled() bool { return u.State == "enabled" || u.State == "enabled-runtime" }
