package agentconn

import "time"

// Watch is how an end finds out that the other one has gone without a word.
type Watch struct {
	Every time.Duration // how often is looked whether anything came
	// Most is how many looks in a row may find nothing: with that many the connection
	// ends. The other end is asked from the second one on.
	Most int
}

// missedChecks is how many looks in a row have found nothing.
type missedChecks int

// verdict is what is to be done after a look.
type verdict int

const (
	nothing verdict = iota
	ask
	end
)

// look counts one. What beats at a pace of its own is not asked: a look or two find
// nothing of it where the paces differ.
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
