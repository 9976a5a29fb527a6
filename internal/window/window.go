package window

import (
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a host can lack the database of zones

	"github.com/adhocore/gronx"
)

// Window is a recurring time in which changes are allowed, or denied.
type Window struct {
	Name string `json:"name"`
	// Schedule has five fields, as in a crontab: minute, hour, day of month, month, weekday.
	Schedule string `json:"schedule"`
	Seconds  int64  `json:"seconds"`
	Zone     string `json:"zone"` // a name of the IANA database, such as Europe/Berlin, or TargetZone
	Deny     bool   `json:"deny,omitempty"`
}

// TargetZone is the Zone of a window that has the time zone of each target.
const TargetZone = "target"

// The limits of Window.Seconds: five minutes and 31 days.
const (
	MinSeconds = 5 * 60
	MaxSeconds = 31 * 24 * 60 * 60
)

// Set is a set of windows. The zero value is always open.
type Set struct{ all []compiled }

// compiled is a window with its zone.
type compiled struct {
	Window
	zone *time.Location
}

// Check returns an error if a window is invalid.
func Check(all []Window) error {
	_, err := Compile(all, "UTC")
	return err
}

// Compile checks windows, and resolves the zone of windows with TargetZone. zone is the zone of the target, or "" if it
// is not known. Then a window with TargetZone causes an error, and the caller must allow no changes.
func Compile(all []Window, zone string) (Set, error) {
	var s Set
	for _, w := range all {
		location, err := w.check(zone)
		if err != nil {
			return Set{}, fmt.Errorf("cannot use the window %.80q: %w", w.Name, err)
		}
		s.all = append(s.all, compiled{w, location})
	}
	return s, nil
}

// IsLocal reports whether a window has TargetZone.
func IsLocal(all []Window) bool {
	return slices.ContainsFunc(all, func(w Window) bool { return w.Zone == TargetZone })
}

func (w Window) check(zone string) (*time.Location, error) {
	if w.Name == "" {
		return nil, fmt.Errorf("it has no name")
	}
	if err := CheckSchedule(w.Schedule); err != nil {
		return nil, err
	}
	if w.Seconds < MinSeconds || w.Seconds > MaxSeconds {
		return nil, fmt.Errorf("its duration of %d s is not between 5 minutes and 31 days", w.Seconds)
	}
	switch {
	case w.Zone != TargetZone:
		return Zone(w.Zone)
	case zone == "":
		return nil, fmt.Errorf("it has the time zone of the target, which is not known")
	}
	return Zone(zone)
}

// CheckSchedule returns an error if a text is not a schedule.
func CheckSchedule(text string) error {
	if len(strings.Fields(text)) != 5 || len(text) > 200 || strings.Contains(text, "@") || !gronx.IsValid(text) {
		return fmt.Errorf("cannot read the schedule %.80q: it must have five fields, such as \"0 2 * * *\": "+
			"minute, hour, day of month, month and weekday", text)
	}
	if _, err := gronx.NextTickAfter(text, anchor(), true); err != nil {
		return fmt.Errorf("cannot use the schedule %.80q: no date matches it", text)
	}
	return nil
}

// anchor is the beginning of a leap year.
func anchor() time.Time { return time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC) }

// Zone returns the zone with a name of the IANA database.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("cannot use the zone %q: write a name such as Europe/Berlin or UTC", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("cannot use the zone %.80q: write a name such as Europe/Berlin or UTC", name)
	}
	return zone, nil
}
