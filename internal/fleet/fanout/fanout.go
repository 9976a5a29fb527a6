// Package fanout does something on many targets: so many at once, in batches
// where one has to be whole before the next begins, and no further when too many
// fail.
//
//	sum := fanout.Run(ctx, names, fanout.Options{Parallel: 20}, work, interrupts, observe)
//	fmt.Println(sum.Count(fanout.Changed), sum.Names(fanout.Failed, fanout.Unreachable))
//
// Machine decides and is pure; Run acts on what it says. Every target ends with
// exactly one outcome.
package fanout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Status is how it ended on one target.
type Status uint8

// What may become of a target.
const (
	Unset       Status = iota // nothing was said; from work it counts as failed
	OK                        // as it walready in sync
	Changed                   // changed, and now as it is wanted
	Failed                    // it went wrong there
	Unreachable               // nobody came that far
	Skipped                   // it was not begun
)

// String is the word for people and for JSON.
func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case Changed:
		return "changed"
	case Failed:
		return "failed"
	case Unreachable:
		return "unreachable"
	case Skipped:
		return "skipped"
	}
	return "unset"
}

// bad tells whether it counts as a failure.
func (s Status) bad() bool { return s == Failed || s == Unreachable }

// Outcome is what became of one target. Why is for people, one line: the reason
// of what is skipped, and whatever work has to say.
type Outcome struct {
	Status Status
	Why    string
}

// DefaultParallel is how many targets are worked on at once when nobody says
// otherwise.
const DefaultParallel = 50

// Options say how many, and until when. The zero value is all of them,
// DefaultParallel at once, whatever fails.
type Options struct {
	// Parallel is how many targets are worked on at once; 0 is DefaultParallel.
	Parallel int
	// Batch is how many make a batch; the zero value is all. Every target of a
	// batch has ended before the next one begins.
	Batch Amount
	// MaxFailed is how many may fail or be unreachable: with one more no target
	// starts. nil is any number; of 0 the first failure is the last.
	MaxFailed *Amount
}

// Amount is a number of targets, or of hundredths of all of them, rounded down; a
// batch has one target at least.
type Amount struct {
	Number  int
	Percent bool
}

// ParseAmount reads 3 or 25%.
func ParseAmount(text string) (Amount, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || strings.HasPrefix(digits, "+") || percent && n > 100 {
		return Amount{}, fmt.Errorf("cannot read %q as a number of targets: write a number such as 3, or a part of all such as 25%%", text)
	}
	return Amount{Number: n, Percent: percent}, nil
}

// String is what ParseAmount reads.
func (a Amount) String() string {
	if a.Percent {
		return strconv.Itoa(a.Number) + "%"
	}
	return strconv.Itoa(a.Number)
}

// batch is how many targets of all make a batch: at least one, if any are meant.
func (a Amount) batch(all int) int {
	switch {
	case a.Number <= 0:
		return all
	case a.Percent:
		return max(1, a.Number*all/100)
	}
	return min(a.Number, all)
}

// most is how many targets of all that is at most.
func (a Amount) most(all int) int {
	if a.Percent {
		return max(0, a.Number*all/100)
	}
	return max(0, a.Number)
}

// Exceeded tells whether so many failures, of all targets, are more than that.
func (a Amount) Exceeded(failures, all int) bool { return failures > a.most(all) }

// What says what an event is about.
type What uint8

// What happens. Of one target first Started, then Ended; of one that is skipped
// Ended alone. Finished is the last event.
const (
	Nothing   What = iota
	Started        // work begins on Target
	Ended          // Outcome is that of Target
	Stopped        // none starts any more; Why tells the reason
	Cancelled      // those that run are told to stop
	Finished       // every target has its outcome
)

// String is the word for messages of tests and logs.
func (w What) String() string {
	return [...]string{"nothing", "started", "ended", "stopped", "cancelled", "finished"}[min(w, Finished)]
}

// Event is one thing that happens.
type Event struct {
	At      time.Time
	What    What
	Target  string  // of Started and Ended
	Outcome Outcome // of Ended
	Why     string  // of Stopped
	Running int     // how many are worked on after it
	Waiting int     // how many have not begun
}

// Result is what became of one target, and when. Of one that was skipped both
// times are when that was decided.
type Result struct {
	Target       string
	Outcome      Outcome
	Began, Ended time.Time
}

// Summary are the results of all targets, in the order in which they were given.
type Summary []Result

// Count is how many ended with one of these.
func (s Summary) Count(of ...Status) int { return len(s.Names(of...)) }

// Names are the targets that ended with one of these, in order.
func (s Summary) Names(of ...Status) []string {
	var out []string
	for _, r := range s {
		for _, status := range of {
			if r.Outcome.Status == status {
				out = append(out, r.Target)
				break
			}
		}
	}
	return out
}

// ErrInterrupted is the cause of the context that work sees when it is told to
// stop.
var ErrInterrupted = errors.New("interrupted")
