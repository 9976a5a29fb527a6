package rollouts

import (
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// courseOf describes the course of a rollout; nil means that its numbers are not known.
func courseOf(r *rollout.Rollout) *document.RolloutCourse {
	if r.Course == nil {
		return nil
	}
	d := &document.RolloutCourse{Span: r.Course.Span, Marks: []document.RolloutMark{}}
	for i := range r.Plan.Waves {
		size, _, _ := r.Progress(i)
		d.Targets += size
	}
	for _, s := range r.Course.Samples {
		d.Points = append(d.Points, document.RolloutPoint{At: s.At, Granted: s.Granted, Ready: s.Ready, Failed: s.Failed})
	}
	for _, m := range r.Course.Marks {
		d.Marks = append(d.Marks, document.RolloutMark{At: m.At, Text: markText(r, m)})
	}
	return d
}

func markText(r *rollout.Rollout, m rollout.Mark) string {
	switch {
	case m.Kind == rollout.Advanced && m.Wave < len(r.Plan.Waves):
		return "wave " + r.Plan.Waves[m.Wave].Name
	case m.Kind == rollout.Resumed:
		return "resumed"
	}
	return string(m.Phase)
}
