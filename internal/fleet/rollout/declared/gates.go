package declared

import (
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/lang/source"
)

// gatesOf converts the gates of a wave, which the language has checked.
func gatesOf(all []source.Gate) (out []rollout.Gate) {
	for _, g := range all {
		out = append(out, rollout.Gate{Label: g.Label, Lower: g.Worse == "lower", MinSample: g.MinSample,
			MaxRatio: orZero(g.MaxRatio), Margin: orZero(g.Margin),
			Name: g.Name, Type: rollout.GateType(g.Type), DryRun: g.DryRun, Timeout: g.Timeout,
			Need: g.Need, Users: g.Users, Groups: g.Groups, NotAuthor: g.NotAuthor, Expires: g.Expires,
			URL: g.URL, Query: g.Query, Secret: g.Sign, Token: g.Token, Min: g.Min, Max: g.Max,
			InitialDelay: g.InitialDelay, Interval: g.Interval, Count: g.Count, FailureLimit: g.FailureLimit,
			ErrorLimit: g.ErrorLimit})
	}
	return out
}

func orZero(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}
