package fleet

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// GuestState tells whether a guest runs.
type GuestState string

// States of guests. The zero value is unknown.
const (
	GuestRunning GuestState = "running"
	GuestStopped GuestState = "stopped" // its root exists
	GuestMissing GuestState = "missing" // only its settings exist
	GuestUnknown GuestState = "unknown" // only for display: agents do not report it
)

// MaxGuests is the maximum number of guests that a target reports.
const MaxGuests = 256

// Guest is a guest of a target, such as a container of systemd-nspawn. Another target can run in it.
type Guest struct {
	Name  string     `json:"name"` // on its supervisor
	State GuestState `json:"state"`
	// Machine is the fact machine_id of the guest, or "" if it is unknown.
	Machine string `json:"machine,omitempty"`
}

// Place is the position of a target among targets that contain others. Hubs relate a guest to the target that runs in
// it if both report the same machine.
type Place struct {
	Machine   string  `json:"machine,omitempty"`   // fact machine_id
	Container string  `json:"container,omitempty"` // type of the container that the host is, or ""
	Guests    []Guest `json:"guests,omitempty"`    // sorted by name
	More      int     `json:"more,omitempty"`      // guests that are not in Guests
}

var guestName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`) })

// Valid returns the part of a reported place that is valid, because a compromised host can report anything. A missing
// place is empty.
func (p *Place) Valid() Place {
	if p == nil {
		return Place{}
	}
	v := Place{Machine: validMachine(p.Machine), More: min(max(p.More, 0), 1<<20)}
	if len(p.Container) <= 64 && guestName().MatchString(p.Container) {
		v.Container = p.Container
	}
	for _, g := range p.Guests {
		known := g.State == GuestRunning || g.State == GuestStopped || g.State == GuestMissing
		if known && guestName().MatchString(g.Name) && len(v.Guests) < MaxGuests {
			v.Guests = append(v.Guests, Guest{g.Name, g.State, validMachine(g.Machine)})
		}
	}
	slices.SortStableFunc(v.Guests, compareGuests)
	v.Guests = slices.CompactFunc(v.Guests, func(a, b Guest) bool { return a.Name == b.Name })
	return v
}

func compareGuests(a, b Guest) int { return strings.Compare(a.Name, b.Name) }

// validMachine returns a fact machine_id, or "" if it is invalid.
func validMachine(id string) string {
	if b, err := hex.DecodeString(id); err != nil || len(b) != 16 || hex.EncodeToString(b) != id {
		return ""
	}
	return id
}

// Equal reports whether two places are equal. A missing place only equals a missing place.
func (p *Place) Equal(q *Place) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.Machine == q.Machine && p.Container == q.Container && p.More == q.More && slices.Equal(p.Guests, q.Guests)
}

// maxGuestChanges limits the changes in one text.
const maxGuestChanges = 10

// GuestChanges describes the changes from one place to another.
func GuestChanges(was, is *Place) string {
	if was == nil || is == nil {
		return "the guests of the host are unknown, or known again"
	}
	var all []string
	for _, g := range is.Guests {
		if i, ok := slices.BinarySearchFunc(was.Guests, g, compareGuests); !ok || was.Guests[i].State != g.State {
			all = append(all, fmt.Sprintf("%s is %s", g.Name, g.State))
		}
	}
	for _, g := range was.Guests {
		if _, ok := slices.BinarySearchFunc(is.Guests, g, compareGuests); !ok {
			all = append(all, g.Name+" no longer exists")
		}
	}
	if more := len(all) - maxGuestChanges; more > 0 {
		all = append(all[:maxGuestChanges:maxGuestChanges], fmt.Sprintf("%d more changes", more))
	}
	if all == nil {
		return "the identity of a guest or of the host changed"
	}
	return "guests: " + strings.Join(all, ", ")
}
