package clone_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/clone"
)

// fleetOf is a hub with its record, of which there may be backups, and its hosts.
type fleetOf struct {
	dice    *rand.Rand
	record  clone.Record
	backups []clone.Record
	value   int
	late    []fleet.Claim // sent by processes that have ended, and not delivered yet
}

func (f *fleetOf) take(c fleet.Claim) string {
	f.value++
	v := fmt.Sprint("v", f.value)
	f.record = f.record.Take(c, v, int64(f.value))
	return v
}

// machine is a host: what is durable there, and the process of its agent.
type machine struct {
	name, value string
	process     int
	backups     []string
}

func (m *machine) claim() fleet.Claim {
	return fleet.Claim{Value: m.value, Process: fmt.Sprint(m.name, m.process), Copy: fleet.Copy{Host: m.name}}
}

// live does one thing that happens to hosts every day.
func (f *fleetOf) live(m *machine) string {
	switch n := f.dice.IntN(84); {
	case n < 60:
		m.value = f.take(m.claim())
		return "claims"
	case n < 68:
		f.take(m.claim())
		return "loses the answer"
	case n < 72:
		f.late = append(f.late, m.claim())
		m.process++
		return "sends a claim that is late, and begins again"
	}
	m.process++
	return "begins again"
}

// step does one thing that can happen to a host, a loss of its state too.
func (f *fleetOf) step(m *machine) string {
	switch n := f.dice.IntN(100); {
	case n < 84:
		return f.live(m)
	case n < 90:
		m.backups = append(m.backups, m.value)
		return "is saved"
	case n < 93 && len(m.backups) > 0:
		m.value = m.backups[f.dice.IntN(len(m.backups))]
		m.backups = []string{m.value} // newer states than that do not come back
		m.process++
		return "is restored"
	case n < 95:
		m.value = ""
		m.process++
		return "loses the file"
	}
	return f.stepHub()
}

// stepHub does one thing that can happen to the hubs.
func (f *fleetOf) stepHub() string {
	switch n := f.dice.IntN(4); {
	case n == 0:
		f.backups = append(f.backups, f.record)
		return "the hub is saved"
	case n == 1 && len(f.backups) > 0:
		f.record = f.backups[len(f.backups)-1]
		return "the hub is restored"
	case n == 2:
		f.record = clone.Record{}
		return "the hub loses its store"
	case len(f.late) > 0:
		i := f.dice.IntN(len(f.late))
		f.take(f.late[i])
		f.late = slices.Delete(f.late, i, i+1)
		return "a late claim arrives"
	}
	return "nothing happens"
}

// Whatever happens to one host and to its hubs, it is not taken for a clone.
func TestOneHostIsNoClone(t *testing.T) {
	for seed := range uint64(20000) {
		f := &fleetOf{dice: rand.New(rand.NewPCG(seed, 1))}
		m := &machine{name: "one"}
		var story []string
		for range 80 {
			story = append(story, f.step(m))
			if f.record.Cloned {
				t.Fatalf("seed %d: one host is taken for a clone: %v\n%+v", seed, story, f.record)
			}
		}
	}
}

// Two hosts with one identity are detected, whatever happened before, and whatever happens every
// day.
func TestTwoHosts(t *testing.T) {
	for seed := range uint64(20000) {
		f := &fleetOf{dice: rand.New(rand.NewPCG(seed, 2))}
		one := &machine{name: "one"}
		for range f.dice.IntN(40) {
			f.step(one)
		}
		f.record.Cloned = false
		two := *one
		two.name = "two"
		two.process += f.dice.IntN(2) * 1000
		n := 0
		for ; !f.record.Cloned; n++ {
			if n == 400 {
				t.Fatalf("seed %d: two hosts are not detected: %+v", seed, f.record)
			}
			f.live([]*machine{one, &two}[f.dice.IntN(2)])
		}
		if c := f.record.Copies(); len(c) < 2 || c[0].Seen < c[1].Seen {
			t.Fatalf("seed %d: the hosts of the clone are %+v", seed, c)
		}
	}
}

// A hub requests claims of all processes until one host settles. Hosts that run at the same time
// are proved by that alone, in few rounds, however many they are.
func TestRequestedClaimsProve(t *testing.T) {
	for hosts := 2; hosts <= 30; hosts++ {
		for seed := range uint64(200) {
			f := &fleetOf{dice: rand.New(rand.NewPCG(seed, uint64(hosts)))}
			first := &machine{name: "h0"}
			first.value = f.take(first.claim())
			var all []*machine
			for i := range hosts {
				m := *first
				m.name = fmt.Sprint("h", i)
				all = append(all, &m)
			}
			all[1].value = f.take(all[1].claim()) // the agent of the clone begins
			for round := 0; !f.record.Cloned; round++ {
				if f.record.Settled || round == 10 {
					t.Fatalf("%d hosts, seed %d: not proved after %d rounds: %+v", hosts, seed, round, f.record)
				}
				for _, i := range f.dice.Perm(hosts) {
					all[i].value = f.take(all[i].claim())
				}
			}
		}
	}
}

// One host settles after at most two requested claims, so that a hub does not request more of it.
func TestOneHostSettles(t *testing.T) {
	for seed := range uint64(5000) {
		f := &fleetOf{dice: rand.New(rand.NewPCG(seed, 3))}
		m := &machine{name: "one"}
		for range f.dice.IntN(60) {
			f.step(m)
		}
		n := 0
		for m.value = f.take(m.claim()); !f.record.Settled; n++ {
			if n == 2 {
				t.Fatalf("seed %d: not settled: %+v", seed, f.record)
			}
			m.value = f.take(m.claim())
		}
	}
}

// A virtual machine that is reverted to an older snapshot, and then to a newer one, is one host.
// If that goes on, nothing distinguishes it from two.
func TestReverted(t *testing.T) {
	f := &fleetOf{}
	m := &machine{name: "one"}
	claims := func(from string) string {
		m.value = from
		m.process++
		for range 3 {
			m.value = f.take(m.claim())
		}
		return m.value
	}
	old := claims("")
	current := claims(old)
	reverted := claims(old)
	current = claims(current)
	if f.record.Cloned {
		t.Errorf("reverted once, and back: %+v", f.record)
	}
	for range 2 {
		reverted = claims(reverted)
		current = claims(current)
	}
	if !f.record.Cloned {
		t.Errorf("reverted again and again: %+v", f.record)
	}
}

// What is stored for a target stays small, whatever its agent sends.
func TestBounds(t *testing.T) {
	f := &fleetOf{}
	for i := range 1000 {
		f.take(fleet.Claim{Value: fmt.Sprint("made up ", i), Process: fmt.Sprint(i)})
		if len(f.record.Branches) > 8 || f.record.Cloned {
			t.Fatalf("after %d: %+v", i, f.record)
		}
	}
}
