package choice

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// freshFor is the time for which a latency counts. Within it, the smallest measured latency counts, because a busy
	// machine increases some latencies.
	freshFor = time.Hour
	// againAfter is the time after which a failed measurement is repeated.
	againAfter = time.Minute
	// tolerance and factor define which hubs are near: their latency is at most factor times the smallest one, plus
	// tolerance.
	tolerance = 5 * time.Millisecond
	factor    = 2
)

// measured is the result of a measurement. A latency of 0 means that the hub did not answer.
type measured struct {
	latency time.Duration
	at      time.Time
}

// Choice chooses the address for each attempt of an agent to connect to a hub. The zero value is ready to use. It is
// safe for concurrent use.
type Choice struct {
	mu      sync.Mutex
	known   map[string]measured
	last    string   // the address of the last attempt
	ordered []string // addresses that a hub ordered to use next
}

// Next returns the address for the next attempt. all must not be empty. It is the address to which a hub moved the
// agent, if it is still in all. Otherwise it is a random near one. If possible, it is not the last one, because that
// hub may be down.
func (c *Choice) Next(all []string, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ordered := c.ordered
	c.ordered = nil
	for _, u := range ordered {
		if slices.Contains(all, u) {
			c.last = u
			return u
		}
	}
	others := slices.DeleteFunc(slices.Clone(all), func(u string) bool { return u == c.last })
	if len(others) == 0 {
		others = all
	}
	if near := c.near(all, now, others); len(near) > 0 {
		others = near
	}
	c.last = others[rand.N(len(others))]
	return c.last
}

// near returns the near addresses among some, compared with all. Before the first measurement, all are near.
func (c *Choice) near(all []string, now time.Time, some []string) []string {
	limit, found := time.Duration(0), false
	for _, u := range all {
		if m := c.known[u]; m.latency > 0 && now.Sub(m.at) < freshFor && (!found || m.latency < limit) {
			limit, found = m.latency, true
		}
	}
	if !found {
		return some
	}
	limit = limit*factor + tolerance
	return slices.DeleteFunc(slices.Clone(some), func(u string) bool {
		m, known := c.known[u]
		return known && now.Sub(m.at) < freshFor && (m.latency == 0 || m.latency > limit)
	})
}

// Unknown returns the addresses that must be measured before Next can compare them. A single address needs no
// measurement.
func (c *Choice) Unknown(all []string, now time.Time) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(all) < 2 {
		return nil
	}
	for _, u := range all {
		m, known := c.known[u]
		if age := now.Sub(m.at); !known || age >= freshFor || m.latency == 0 && age >= againAfter {
			out = append(out, u)
		}
	}
	return out
}

// Note records the latency of an address; 0 means that it did not answer.
func (c *Choice) Note(address string, latency time.Duration, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[string]measured{}
	}
	before, known := c.known[address]
	if known && latency > 0 && before.latency > 0 && now.Sub(before.at) < freshFor {
		latency = min(latency, before.latency)
	}
	c.known[address] = measured{latency, now}
}

// Order makes Next return one of some addresses once, in their order: a hub moves this agent. Addresses that are not in
// all, or not near, do not count, nor does the address of the last attempt. If no address remains, Order returns false
// and changes nothing. must is true if the hub leaves: then far addresses count too.
func (c *Choice) Order(some, all []string, must bool, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	some = slices.DeleteFunc(slices.Clone(some), func(u string) bool { return !slices.Contains(all, u) || u == c.last })
	near := c.near(all, now, some)
	if must {
		near = append(near, some...)
	}
	if len(near) == 0 {
		return false
	}
	c.ordered = near
	return true
}

// Far reports whether the address of the last attempt is not near, although another address is.
func (c *Choice) Far(all []string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	near := c.near(all, now, all)
	return len(near) > 0 && slices.Contains(all, c.last) && !slices.Contains(near, c.last)
}
