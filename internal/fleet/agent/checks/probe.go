package checks

import (
	"strconv"
	"time"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/step"
)

// Step returns the step CHECK that tests a condition.
func Step(p query.Probe, limit time.Duration) (step.Step, error) {
	attrs := []step.Attr{{Key: "within", Value: limit.String()}}
	if p.Status != 0 {
		attrs = append(attrs, step.Attr{Key: "status", Value: strconv.Itoa(p.Status)})
	}
	for _, a := range []step.Attr{{Key: "http", Value: p.HTTP}, {Key: "tcp", Value: p.TCP}, {Key: "exec", Value: p.Exec},
		{Key: "unit", Value: p.Unit}, {Key: "file", Value: p.File}, {Key: "contains", Value: p.Contains}} {
		if a.Value != "" {
			attrs = append(attrs, a)
		}
	}
	return step.New(step.Check, []string{"scope"}, attrs...)
}
