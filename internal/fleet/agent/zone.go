package agent

import "time"

// reread is a value of the host that is read again every minute. The zero value is ready for use.
type reread[T any] struct {
	value T
	read  time.Duration // monotonic time of the last reading
	known bool          // read is set
}

// at returns the value, and reads it again if the last reading is older than a minute. Without a reader, it is zero.
func (r *reread[T]) at(mono time.Duration, read func() T) T {
	if read != nil && (!r.known || mono >= r.read+time.Minute) {
		r.value, r.read, r.known = read(), mono, true
	}
	return r.value
}
