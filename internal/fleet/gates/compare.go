package gates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// askComparison queries one value for each target, and compares targets with the change to targets without it. name
// returns the name of a target, or "".
func askComparison(ctx context.Context, s Secrets, d rollout.Due,
	name func(rollout.ID) string) (rollout.Verdict, string) {
	kind, result, err := query(ctx, s, d.Gate)
	if err != nil {
		return rollout.Unclear, err.Error()
	}
	values, err := samples(kind, result, d.Gate.Label)
	if err != nil {
		return rollout.Unclear, err.Error()
	}
	with, without := valuesOf(d.With, name, values), valuesOf(d.Without, name, values)
	if len(with)+len(without) == 0 && len(values) > 0 {
		return rollout.Unclear, fmt.Sprintf("the query returns %d values, and no label %s names a target of the rollout",
			len(values), d.Gate.Label)
	}
	return d.Gate.Compare(with, without)
}

// valuesOf returns the values of targets. Targets without a value are left out.
func valuesOf(ids []rollout.ID, name func(rollout.ID) string, values map[string]float64) (out []float64) {
	for _, id := range ids {
		if v, ok := values[name(id)]; ok {
			out = append(out, v)
		}
	}
	return out
}

// samples returns the values of a vector by the name in a label, without values that are not numbers. The label may
// also contain a port.
func samples(kind string, result json.RawMessage, label string) (map[string]float64, error) {
	if kind != "vector" {
		return nil, fmt.Errorf("the query returns a %.20s, and must return a vector with one value for each target", kind)
	}
	var all []struct {
		Metric map[string]string
		Value  []any
	}
	if err := json.Unmarshal(result, &all); err != nil {
		return nil, errors.New("cannot read the values of the query")
	}
	out, seen := map[string]float64{}, map[string]bool{}
	for _, sample := range all {
		name := sample.Metric[label]
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		if name == "" {
			return nil, fmt.Errorf("a value of the query has no label %s", label)
		}
		if seen[name] {
			return nil, fmt.Errorf("the query returns several values for %.80q, and must return one: use sum by (%s)", name,
				label)
		}
		seen[name] = true
		value, err := valueOfPair(sample.Value)
		if err != nil {
			return nil, err
		}
		if !math.IsNaN(value) {
			out[name] = value
		}
	}
	return out, nil
}
