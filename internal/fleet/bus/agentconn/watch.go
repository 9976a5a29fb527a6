package agentconn

import "time"

// Watch configures how an end detects that the other end has gone silently.
type Watch struct {
	Every time.Duration // interval of the checks whether anything arrived
	// Most is the number of checks in a row without any arrival after which the connection ends.
	// The second such check and later ones send a ping.
	Most int
}

// missedChecks is the number of checks in a row without any arrival.
type missedChecks int

// verdict is the action after a check.
type verdict int

const (
	nothing verdict = iota
	ask
	end
)

// look counts one check. It does not ping after the first check without an arrival: an end that
// sends periodically can miss one check if the intervals differ.
func (s *missedChecks) look(heard bool, most int) verdict {
	if heard {
		*s = 0
		return nothing
	}
	switch *s++; {
	case int(*s) >= most:
		return end
	case *s >= 2:
		return ask
	}
	return nothing
}
