package rollouts

import (
	"fmt"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// describe describes an event about a whole rollout for users; it returns "" for other events.
func describe(e rollout.Event) string {
	if e.Kind == rollout.Moved && e.Why != "" {
		strategy := rollout.StrategyOf(e.Lane)
		return fmt.Sprintf("targets with the strategy %s from now on: %d, because %s", strategy, len(e.Targets), e.Why)
	}
	if e.Kind == rollout.CaughtUp && e.Why != "" {
		return fmt.Sprintf("targets that got the stable content and %s: %d", e.Why, len(e.Targets))
	}
	text := ""
	switch e.Kind {
	case rollout.Created:
		text = fmt.Sprintf("began with the strategy %s: %s", e.Created.Strategy.Name, e.Created.Cause)
	case rollout.Advanced:
		text = fmt.Sprintf("wave %d began", e.Wave+1)
	case rollout.Paused:
		text = "paused: " + e.Why
	case rollout.Resumed:
		text = "resumed"
	case rollout.Promoted:
		text = "continues without the rest of the bake time of its wave"
	case rollout.Breached:
		text = fmt.Sprintf("%s: %s", map[rollout.Reaction]string{rollout.Pause: "paused", rollout.Abort: "aborted",
			rollout.Rollback: "rolls back"}[e.Reaction], e.Why)
	case rollout.Ended:
		text = "ended: " + string(e.Phase)
		if e.Why != "" {
			text += ", because " + e.Why
		}
	case rollout.Vetoed:
		text = fmt.Sprintf("was rejected for the organization %s: %s", e.Organization, e.Why)
	case rollout.Approved, rollout.Rejected, rollout.Measured, rollout.Expired:
		text = describeGate(e)
	case rollout.Released:
		text = "released its content: it may be rolled out again"
	case rollout.Unwanted:
		text = "holds nothing any more: no target lacks its content"
	case rollout.Wanted:
		text = "holds content again: a target lacks it"
	}
	if text == "" {
		return ""
	}
	return "rollout " + e.Rollout + " " + text
}

// describeGate describes an event of a gate.
func describeGate(e rollout.Event) (text string) {
	if e.Organization != "" {
		return fmt.Sprintf("got an approval for the organization %s", e.Organization)
	}
	switch e.Kind {
	case rollout.Approved:
		text = fmt.Sprintf("got an approval at its gate %s", e.Gate)
	case rollout.Expired:
		text = fmt.Sprintf("no longer has an approval at its gate %s, because it is too old", e.Gate)
	case rollout.Rejected:
		text = fmt.Sprintf("was rejected at its gate %s", e.Gate)
	default:
		text = fmt.Sprintf("got the verdict %s of its gate %s", e.Verdict, e.Gate)
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}
