package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

const (
	// high is the used part of a limit above which there is an alarm, and low is the part below which the alarm ends.
	// Between them, nothing changes, so that an alarm does not begin and end again and again.
	high, low = 0.9, 0.85
	// ampleDisk is the free space of a disk, in bytes, from which the disk is not close to its limit: ten percent of a
	// large disk are much space.
	ampleDisk = 8 << 30
	// highLag is the number of events that a read model lacks above which there is an alarm.
	highLag = 10_000
	// certificateDays is the number of days before the end of a certificate from which there is an alarm.
	certificateDays = 30
)

// limit is a limit of a hub.
type limit struct {
	// used returns the used part of the limit, from 0 to 1 or more. A negative number is unknown.
	used func(l fleet.HubLoad, now time.Time) float64
	// holds is the time for which the part must be high before there is an alarm.
	holds time.Duration
	state func(l fleet.HubLoad) string // completes "the hub …"
	hint  string
}

// limits returns all limits, in the order of their alarms.
func limits() []limit {
	return []limit{
		{used: disk, hint: "Free some space, or store less: retention in hub.json",
			state: func(l fleet.HubLoad) string { return fmt.Sprintf("has %.0f%% of its disk free", l.DiskFree*100) }},
		{used: memory, holds: 5 * time.Minute, hint: "Add memory, or let another hub join",
			state: func(l fleet.HubLoad) string { return fmt.Sprintf("has %.0f%% of its memory free", l.MemoryFree*100) }},
		{used: cpu, holds: 10 * time.Minute, hint: "Add CPUs, or let another hub join",
			state: func(l fleet.HubLoad) string { return fmt.Sprintf("uses %.0f%% of its CPUs", l.CPU*100) }},
		{used: connections, hint: "Let another hub join",
			state: func(l fleet.HubLoad) string {
				return fmt.Sprintf("has %d of at most %d connections", l.Connections, l.ConnectionLimit)
			}},
		{used: lag, holds: 5 * time.Minute, hint: "Lists and pages of this hub are old. Add CPUs, or a faster disk",
			state: func(l fleet.HubLoad) string { return fmt.Sprintf("is %d events behind", l.EventLag) }},
		{used: certificate, hint: "The hub with the key of the fleet CA must run to renew it",
			state: func(l fleet.HubLoad) string {
				return "has a certificate until " + time.Unix(l.CertificateUntil, 0).UTC().Format(time.DateOnly)
			}},
	}
}

func memory(l fleet.HubLoad, _ time.Time) float64 { return usedOf(l.MemoryFree) }
func cpu(l fleet.HubLoad, _ time.Time) float64    { return l.CPU }

func disk(l fleet.HubLoad, _ time.Time) float64 {
	if l.DiskFreeBytes >= ampleDisk {
		return 0
	}
	return usedOf(l.DiskFree)
}

// DiskIsLow reports whether a disk is close to its limit. free and all are in bytes.
func DiskIsLow(free, all uint64) bool {
	part, bytes := float64(free)/float64(max(1, all)), int64(free)
	return disk(fleet.HubLoad{DiskFree: part, DiskFreeBytes: bytes}, time.Time{}) > high
}

func usedOf(free float64) float64 {
	if free < 0 {
		return -1
	}
	return 1 - free
}

func connections(l fleet.HubLoad, _ time.Time) float64 {
	if l.ConnectionLimit <= 0 {
		return -1
	}
	return float64(l.Connections) / float64(l.ConnectionLimit)
}

func lag(l fleet.HubLoad, _ time.Time) float64 { return float64(l.EventLag) / highLag * high }

// certificate returns high when certificateDays remain.
func certificate(l fleet.HubLoad, now time.Time) float64 {
	if l.CertificateUntil <= 0 {
		return -1
	}
	days := time.Unix(l.CertificateUntil, 0).Sub(now).Hours() / 24
	return high * certificateDays / max(1, days)
}

// Watch decides which hubs are close to a limit. The zero value knows no hub. It is not safe for concurrent use.
type Watch struct {
	hubs map[string][]near // by name, in the order of limits
}

// near is the state of one limit of one hub.
type near struct {
	since time.Time // the used part is high since then; zero if it is not
	alarm bool
	state string // of the newest known load
}

// Note records the newest loads of the hubs, by name, and forgets hubs that are not in hubs. A hub without a load
// keeps its alarms, because it may be away. A limit with an unknown used part keeps its alarm too.
func (w *Watch) Note(hubs []string, loads map[string]fleet.HubLoad, now time.Time) {
	if w.hubs == nil {
		w.hubs = map[string][]near{}
	}
	maps.DeleteFunc(w.hubs, func(name string, _ []near) bool { return !slices.Contains(hubs, name) })
	for _, name := range hubs {
		l, known := loads[name]
		if !known {
			continue
		}
		if w.hubs[name] == nil {
			w.hubs[name] = make([]near, len(limits()))
		}
		for i, limit := range limits() {
			w.hubs[name][i] = w.hubs[name][i].next(limit, l, now)
		}
	}
}

// next returns the state after a new load.
func (n near) next(of limit, l fleet.HubLoad, now time.Time) near {
	used := of.used(l, now)
	switch {
	case used < 0:
		return n
	case used < low, used <= high && !n.alarm:
		return near{}
	case n.since.IsZero():
		n.since = now
	}
	n.alarm = n.alarm || now.Sub(n.since) >= of.holds
	n.state = of.state(l)
	return n
}

// Alarms returns one alarm for each limit to which hubs are close, with all of these hubs.
func (w *Watch) Alarms() (out []assign.Alarm) {
	for i, limit := range limits() {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(w.hubs)) {
			if n := w.hubs[name][i]; n.alarm {
				all = append(all, name+" "+n.state)
			}
		}
		if len(all) > 0 {
			out = append(out, assign.Alarm{Kind: assign.HubLimit, Count: len(all),
				Text: fmt.Sprintf("A hub is close to a limit: %s. %s", strings.Join(all, ", "), limit.hint)})
		}
	}
	return out
}
