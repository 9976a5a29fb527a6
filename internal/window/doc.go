// Package window decides whether changes are allowed at a time.
//
//	nights := window.Window{Name: "nights", Schedule: "0 2 * * *", Seconds: 4 * 3600, Zone: "UTC"}
//	set, err := window.Compile([]window.Window{nights}, "")
//	state := set.At(now)
//	if !state.Open {
//		fmt.Println(state.Why) // outside the window "nights", which opens at 2026-11-28 02:00 UTC
//	}
//
// # Meaning
//
// A window begins when the wall clock of its zone matches its schedule, and lasts its duration in elapsed time. If
// it begins again before its end, the two times are one. A wall time that a zone skips in spring is
// an hour later; a wall time that occurs twice in autumn counts once, the first time.
//
// A window that denies has priority over windows that allow. If a set has no window that allows, it is open
// whenever no window denies. An empty set is always open.
//
// A window with TargetZone follows the wall clock of each target. While the zone of a target is not known, Compile
// fails, and all its windows count as closed: a guessed zone could allow changes at a busy time.
package window
