package barrier

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Limits of barriers.
const (
	MaxBarriers = 100  // of a fleet
	MaxMembers  = 1000 // of a barrier
	MaxRun      = 128  // bytes
	// ArrivalTime is the time after which an arrival ends that is not repeated.
	ArrivalTime = 2 * time.Minute
	// RenewTime is the time after which a repetition is stored: most of them change nothing.
	RenewTime = ArrivalTime / 4
	// PassTime is the time for which a run gets the answer that its generation opened.
	PassTime   = 24 * time.Hour
	MinOffline = time.Minute
	MaxOffline = 30 * 24 * time.Hour
)

// All is the quorum of all members that count.
const All = "all"

// Definition contains the values of a barrier in the repository.
type Definition struct {
	Name    string   `json:"name"`
	Targets []string `json:"targets,omitempty"` // names of the members
	// Quorum is All, a number such as "3", or a percentage such as "80%".
	Quorum string `json:"quorum"`
	// OfflineAfter is the time after which a member that is offline does not count; 0 means that it always counts.
	OfflineAfter time.Duration `json:"offline_after_ns,omitempty"`
	// AlarmAfter is the time for which a member waits before an alarm is raised; 0 means no alarm.
	AlarmAfter time.Duration `json:"alarm_after_ns,omitempty"`
}

// Absence is the reason for which a member does not count; "" means that it counts.
type Absence string

// Reasons for which a member does not count.
const (
	Retired Absence = "retired"
	Unknown Absence = "not_enrolled" // the fleet has no active target with this name
	Revoked Absence = "revoked"
	Suspect Absence = "suspect"
	Frozen  Absence = "frozen"
	Offline Absence = "offline"
)

// left reports whether an arrival of the member is refused.
func (a Absence) left() bool { return a == Retired || a == Unknown || a == Revoked || a == Suspect }

// Member is a target that is a member of a barrier.
type Member struct {
	Target string
	Absent Absence
}

// Arrival is a target that waits. Times are in ms since 1970.
type Arrival struct {
	Target  string `json:"target"`
	Run     string `json:"run"`
	Since   int64  `json:"since"`
	Renewed int64  `json:"renewed"` // time of the last repetition that was stored
	Beat    uint64 `json:"beat"`    // number of repetitions that were stored
	Order   uint64 `json:"order,omitempty"`
}

// Pass is a run for which a generation opened.
type Pass struct {
	Target     string `json:"target"`
	Run        string `json:"run"`
	Generation uint64 `json:"generation"`
	At         int64  `json:"at"` // ms since 1970
	Order      uint64 `json:"order,omitempty"`
}

// Left is the withdrawal of a target that did not arrive since. A request that the target sent before has no effect.
type Left struct {
	Target string `json:"target"`
	Order  uint64 `json:"order"`
}

// State contains all that hubs remember of one barrier. Decide does not modify it.
type State struct {
	Definition
	// Undeclared means that the repository no longer declares the barrier.
	Undeclared bool `json:"undeclared,omitempty"`
	// Generation is the number of generations that opened.
	Generation uint64    `json:"generation"`
	Arrivals   []Arrival `json:"arrivals,omitempty"` // of the next generation, in the order of arrival
	Passes     []Pass    `json:"passes,omitempty"`   // in the order of their generations
	Left       []Left    `json:"left,omitempty"`     // in the order of the withdrawals, each target once
}

// Empty reports whether the state can be removed: the barrier is not declared, and has no open generation.
func (s State) Empty(now int64) bool {
	old := func(p Pass) bool { return now >= p.At+PassTime.Milliseconds() }
	return s.Undeclared && !slices.ContainsFunc(s.Passes, func(p Pass) bool { return !old(p) })
}

// Waiting returns the arrivals since the fleet was restored. The newest event removed the arrivals that had ended.
func (s State) Waiting(restored int64) []Arrival {
	return slices.DeleteFunc(slices.Clone(s.Arrivals), func(a Arrival) bool { return a.Since < restored })
}

// Delayed returns the arrivals that have waited longer than AlarmAfter, in the order of arrival.
func (s State) Delayed(now int64) []Arrival {
	if s.AlarmAfter == 0 {
		return nil
	}
	short := func(a Arrival) bool { return now < a.Since+s.AlarmAfter.Milliseconds() }
	return slices.DeleteFunc(s.Waiting(0), short)
}

var nameForm = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][-_A-Za-z0-9]{0,62}$`) })

// CheckName returns an error if a name is not possible for a barrier.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("cannot use %.80q as the name of a barrier: a name has up to 63 letters, digits, _ and -, "+
			"and begins with a letter", name)
	}
	return nil
}

// CheckRun returns an error if a text is not possible as the run of an arrival.
func CheckRun(run string) error {
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if run == "" || len(run) > MaxRun || strings.ContainsFunc(run, odd) {
		return fmt.Errorf("cannot use %.40q as the run of an arrival: a run has up to %d printable characters without "+
			"spaces", run, MaxRun)
	}
	return nil
}

// Check returns an error if the values of a definition are not possible.
func (d Definition) Check() error {
	if err := CheckName(d.Name); err != nil {
		return err
	}
	if len(d.Targets) > MaxMembers {
		return fmt.Errorf("cannot have %d targets: a barrier has up to %d members", len(d.Targets), MaxMembers)
	}
	if d.OfflineAfter != 0 && (d.OfflineAfter < MinOffline || d.OfflineAfter > MaxOffline) {
		return fmt.Errorf("cannot ignore a member that is offline for %s: the time is from 1m to 30d", d.OfflineAfter)
	}
	if d.AlarmAfter < 0 {
		return fmt.Errorf("cannot raise an alarm after %s", d.AlarmAfter)
	}
	return CheckQuorum(d.Quorum)
}

// CheckQuorum returns an error if a text is not a quorum.
func CheckQuorum(text string) error {
	if _, _, ok := quorum(text); !ok {
		return fmt.Errorf(`cannot use the quorum %.40q: it is "all", a number from 1 to %d, or a percentage such as "80%%"`,
			text, MaxMembers)
	}
	return nil
}

// quorum parses a quorum. One of number and percent is not 0.
func quorum(text string) (number, percent int, ok bool) {
	if text == All {
		return 0, 100, true
	}
	digits, share := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 16)
	limit := uint64(MaxMembers)
	if share {
		limit = 100
	}
	if err != nil || n == 0 || n > limit {
		return 0, 0, false
	}
	if share {
		return 0, int(n), true
	}
	return int(n), 0, true
}

// Required returns the number of arrivals that opens the next generation, if so many members count.
func (d Definition) Required(members int) int {
	number, percent, _ := quorum(d.Quorum)
	if number > 0 {
		return number
	}
	return max(1, (members*percent+99)/100)
}
