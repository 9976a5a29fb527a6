package lock

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/test/campaign"
)

// TestTwoAtOnce starts two ways in at the same time, the second a random moment
// later, and leaves them to themselves. Each does its work or is refused in one
// of the ways that are documented, and the machine is whole afterwards.
func TestTwoAtOnce(t *testing.T) {
	w := worlds(t)
	all, rounds, stride := entries(), 1, 6
	if os.Getenv("FETTLE_LONG") != "" {
		rounds, stride = 3, 1
	}
	points, both, bad := 0, 0, 0
	for round := range rounds {
		for i, first := range all {
			for k := i % stride; k < len(all); k += stride {
				points++
				dice := rand.New(rand.NewPCG(uint64(round), uint64(i*len(all)+k)))
				ok := t.Run(fmt.Sprintf("%s/%s/%d", first.name, all[k].name, round), func(t *testing.T) {
					if race(t, w[first.on].copy(t), first, all[k], time.Duration(dice.IntN(30))*time.Millisecond) {
						both++
					}
				})
				if !ok {
					bad++
				}
			}
		}
	}
	campaign.Record(t, campaign.Campaign{Name: "Two at once", Variant: "both run freely", Points: points, Hit: points,
		Lost:   bad,
		Detail: fmt.Sprintf("started up to 30 ms apart; each completes or is refused as documented; then no run is unfinished and there is no drift (in %d both completed)", both)})
}

// race runs two at once and tells whether both did their work.
func race(t *testing.T, m *machine, first, second entry, apart time.Duration) bool {
	t.Helper()
	defer m.unwatch()
	p := m.begin(nil, m.place(first.args)...)
	time.Sleep(apart) // the dice of the race itself, nothing is awaited
	q := m.begin(nil, m.place(second.args)...)
	done := 0
	if first.name == "timer" && second.name == "armed" {
		p, q = q, p
	}
	for i, one := range []*process{p, q} {
		if i == 1 && done == 1 && one.armedTimer(first, second) {
			done++
			continue
		}
		code, out := one.end(), one.out.String()
		switch {
		case code == success:
			done++
		case code == stale && strings.Contains(out, "Undone"):
			done++ // it settled the run of the dead one, and that made its plan stale
		case code == locked && strings.Contains(out, " since "), code == stale, code == failed && refusal(out):
		default:
			t.Errorf("%s ended with %d:\n%s", strings.Join(one.Args[1:4], " "), code, out)
		}
	}
	// A confirm that comes first finds nothing to confirm, but its lock keeps the other one off.
	both := p.out.String() + q.out.String()
	confirms := strings.Contains(both, "fettle confirm") && strings.Contains(both, "no run waits for a confirmation")
	if done == 0 && !confirms {
		t.Errorf("neither did anything:\n%s\n%s", p.out.String(), q.out.String())
	}
	if first.on == "crashed" {
		m.fettle(success, "recover") // who would have settled it may have been refused
	}
	m.whole(t)
	return done == 2
}

// armedTimer sends a timer away that may have come to see the run of the other,
// which is armed for longer than anybody wants to wait here.
func (p *process) armedTimer(first, second entry) bool {
	if first.name+second.name != "timerarmed" && first.name+second.name != "armedtimer" {
		return false
	}
	p.signal(syscall.SIGTERM)
	p.end()
	return true
}

// refusal tells whether a command was kept off by what the other one did.
func refusal(out string) bool {
	for _, text := range []string{"frozen", "no run waits for a confirmation", "waits for its confirmation until",
		"to be confirmed\n", "is over; it is being undone", "was interrupted; to finish or undo it"} {
		if strings.Contains(out, text) {
			return true
		}
	}
	return false
}
