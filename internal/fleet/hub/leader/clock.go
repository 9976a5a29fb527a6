package leader

import "time"

// maxDrift is the largest difference between the clock of a hub and the elapsed time that is not a jump.
const maxDrift = 5 * time.Second

// clock detects jumps of the clock of the hub. A machine that was suspended also has one.
type clock struct{ wall, elapsed time.Time }

// read returns the jump of the clock since the last call, or 0.
func (c *clock) read(now time.Time) time.Duration {
	was := *c
	c.wall, c.elapsed = now.Round(0), time.Now()
	if was.elapsed.IsZero() {
		return 0
	}
	jump := c.wall.Sub(was.wall) - c.elapsed.Sub(was.elapsed)
	if jump.Abs() <= maxDrift {
		return 0
	}
	return jump
}
