package hub_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestSlotsOfKilledHubs: targets request slots while hubs are killed, hang, and start again. A hub that continues after
// a pause still has requests that their senders gave up.
func TestSlotsOfKilledHubs(t *testing.T) {
	if os.Getenv("FETTLE_LONG") == "" {
		t.Skip("hubs are killed for minutes: FETTLE_LONG=1 runs it")
	}
	t.Parallel()
	w := newSeveral(t)
	all := []*child{{one: w.hubs[0]}}
	for i, name := range []string{"hub2", "hub3"} {
		c := w.joinApart(name)
		w.kept(w.hubs[0], i+2)
		w.hubs, all = append(w.hubs, c.one), append(all, c)
	}
	all[0].stop()
	all[0].begin()
	t.Cleanup(all[0].kill)
	w.kept(w.hubs[0], 3)
	c := w.contend(20)
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for range 12 {
		victim := all[random.IntN(len(all))]
		kill, pause := random.IntN(2) == 0, time.Duration(random.IntN(15000))*time.Millisecond
		before := c.grants.Load()
		if kill {
			victim.kill()
		} else {
			victim.freeze(t)
		}
		time.Sleep(pause)
		if kill {
			victim.begin()
		} else {
			victim.thaw(t)
		}
		w.kept(w.hubs[0], 3)
		t.Logf("%s, killed %t: away for %s, %d grants", victim.name, kill, pause, c.grants.Load()-before)
	}
	c.end()
}
