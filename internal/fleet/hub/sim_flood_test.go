//go:build !race

// The race detector makes the many large messages ten times slower, so make test runs this file without it.

package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/test/sample"
)

// An agent that reports without end neither fills the log nor delays other agents, and there is one
// event. The outbox of an agent that was offline for long is accepted.
func TestAgentThatReportsWithoutEnd(t *testing.T) {
	sample.Group(t, 3, 11)
	inSim(t, 1, func(s *sim) {
		s.site.commit("main", s.site.believed, simple("one"))
		s.populate(t, 2)
		liar := s.agents[0]
		liar.crash()
		ctx, stop := context.WithCancel(context.Background())
		l := liar.link(ctx)
		defer func() { stop(); _ = l.Close() }()
		time.Sleep(time.Minute)
		synctest.Wait()
		size := func() (n int, slowed int) {
			for _, r := range s.kept.log.Records() {
				n += len(r)
				slowed += bytes.Count(r, []byte("reports again and again"))
			}
			return n, slowed
		}
		taken := 0
		report := func(seq, bytes int) {
			b, err := json.Marshal(fleet.Report{Format: fleet.ReportFormat, Target: liar.id.ID, Seq: uint64(seq), Boot: "b",
				Event: fleet.Event{Kind: fleet.ReportRequested, Text: strings.Repeat("x", bytes)}})
			if err == nil {
				_, err = l.Ask(ctx, fleet.MessageReport, b)
			}
			if err == nil {
				taken++
			}
		}
		for seq := range 1000 { // a full outbox of a target of some dozen modules
			report(1000+seq, 5<<10)
		}
		if taken != 1000 {
			t.Errorf("%d of 1000 reports that were kept are taken", taken)
		}
		before, _ := size()
		for seq := range 2000 {
			report(3000+seq, 100<<10)
		}
		full, told := size()
		if most := 33 << 20; full-before > most || told != 1 {
			t.Errorf("the log has %d KiB more, %d at most, and tells %d times that it is too much", (full-before)>>10,
				most>>10, told)
		}
		two := s.site.commit("main", s.site.believed, simple("two"))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if s.become(two) != 1 {
			t.Error("the other one is held up")
		}
	})
}
