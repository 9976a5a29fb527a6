package declared

import (
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/source"
)

// gatesOf converts the gates of a wave, which the language has checked.
func gatesOf(all []source.Gate) (out []rollout.Gate) {
	for _, g := range all {
		out = append(out, rollout.Gate{Name: g.Name, Type: rollout.GateType(g.Type), DryRun: g.DryRun, Timeout: g.Timeout,
			Need: g.Need, Users: g.Users, NotAuthor: g.NotAuthor, Expires: g.Expires,
			URL: g.URL, Query: g.Query, Secret: g.Sign, Token: g.Token, Min: g.Min, Max: g.Max,
			InitialDelay: g.InitialDelay, Interval: g.Interval, Count: g.Count, FailureLimit: g.FailureLimit,
			ErrorLimit: g.ErrorLimit})
	}
	return out
}
