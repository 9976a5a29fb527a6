package waves

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// RolloutEventDoc is one event of a rollout from this workstation, on its own line.
type RolloutEventDoc struct {
	Format string `json:"format"` // fettle.rolloutevent/1
	Time   int64  `json:"time"`   // seconds since 1970
	Event  string `json:"event"`  // created, granted, ready, failed, …
	Wave   string `json:"wave,omitempty"`
	Target string `json:"target,omitempty"`
	Gate   string `json:"gate,omitempty"`
	// Verdict of the gate: pass, fail, error or none.
	Verdict string `json:"verdict,omitempty"`
	Why     string `json:"why,omitempty"`
	Phase   string `json:"phase,omitempty"` // of the rollout, at its end
}

// show shows an event of a rollout.
func show(s *cli.Session, r *rollout.Rollout, e rollout.Event) {
	if s.JSON {
		s.LineDocument(RolloutEventDoc{Format: "fettle.rolloutevent/1", Time: e.At, Event: string(e.Kind),
			Wave: waveOf(r, e), Target: string(e.Target), Gate: e.Gate,
			Verdict: string(e.Verdict), Why: e.Why, Phase: string(e.Phase)})
		return
	}
	if text := textOf(r, e); text != "" {
		at := time.Unix(e.At, 0).In(s.App.TimeZone()).Format(time.TimeOnly)
		s.Printf("%s  %s\n", at, text)
	}
}

func waveOf(r *rollout.Rollout, e rollout.Event) string {
	if m := r.Members[e.Target]; m != nil {
		return r.Plan.Waves[m.Wave].Name
	}
	return r.Plan.Waves[e.Wave].Name
}

// textOf describes an event, or returns "" if it is not shown.
func textOf(r *rollout.Rollout, e rollout.Event) string {
	because := ""
	if e.Why != "" {
		because = ": " + e.Why
	}
	switch e.Kind {
	case rollout.Created, rollout.Advanced:
		size, _, atOnce := r.Progress(e.Wave)
		text := fmt.Sprintf("wave %s: %s", r.Plan.Waves[e.Wave].Name, render.Count(size, "target"))
		if atOnce < size {
			text += fmt.Sprintf(", %d at once", atOnce)
		}
		return text
	case rollout.Granted:
		return fmt.Sprintf("%s: applying", e.Target)
	case rollout.Ready, rollout.Failed, rollout.Silent, rollout.Recovered, rollout.Left:
		return fmt.Sprintf("%s: %s%s", e.Target, e.Kind, because)
	case rollout.Returned:
		return fmt.Sprintf("%s: rolled back", e.Target)
	case rollout.Settled:
		if bake := r.Plan.Waves[e.Wave].Bake; bake > 0 {
			return fmt.Sprintf("wave %s: ready; it is observed for %s", r.Plan.Waves[e.Wave].Name,
				time.Duration(bake)*time.Second)
		}
	case rollout.Measured:
		verdict := string(e.Verdict)
		if e.Verdict == rollout.None {
			verdict = "no verdict yet"
		}
		return fmt.Sprintf("gate %s: %s%s", e.Gate, verdict, because)
	case rollout.Approved, rollout.Rejected, rollout.Expired:
		return fmt.Sprintf("gate %s: %s%s", e.Gate, map[rollout.Kind]string{rollout.Approved: "approved by " + e.By,
			rollout.Rejected: "rejected by " + e.By, rollout.Expired: "the approval has expired"}[e.Kind], because)
	case rollout.Unsettled:
		return fmt.Sprintf("wave %s: no longer ready", r.Plan.Waves[e.Wave].Name)
	case rollout.Breached:
		return map[rollout.Reaction]string{rollout.Pause: "paused" + because,
			rollout.Abort:    "stopped" + because + "; changed targets keep the change",
			rollout.Rollback: "stopped" + because + "; changed targets are rolled back"}[e.Reaction]
	case rollout.Paused:
		return "paused" + because
	case rollout.Resumed:
		return "continued"
	case rollout.Ended:
		return endOf(r)
	}
	return ""
}

// endOf describes the end of a rollout.
func endOf(r *rollout.Rollout) string {
	switch r.Phase {
	case rollout.WithExceptions:
		return "completed: " + r.Why
	case rollout.RolledBack:
		if n := stuck(r); n > 0 {
			return render.Count(n, "target") + " could not be rolled back"
		}
		return "rolled back"
	}
	return string(r.Phase)
}

// stuck returns the number of targets that still have the change after a rollback.
func stuck(r *rollout.Rollout) (n int) {
	for _, m := range r.Members {
		if m.Granted > 0 && m.State != rollout.MemberReturned && m.State != rollout.MemberLeft {
			n++
		}
	}
	return n
}
