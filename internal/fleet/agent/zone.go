package agent

import "time"

// zone is the time zone of the host. The zero value is ready for use.
type zone struct {
	name  string
	read  time.Duration // monotonic time of the last reading
	known bool          // read is set
}

// at returns the zone, and reads it again if the last reading is older than a minute.
func (z *zone) at(mono time.Duration, read func() string) string {
	if read != nil && (!z.known || mono >= z.read+time.Minute) {
		z.name, z.read, z.known = read(), mono, true
	}
	return z.name
}
