package gates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// askPrometheus queries one value, and compares it with the limits of the gate.
func askPrometheus(ctx context.Context, s Secrets, g rollout.Gate) (rollout.Verdict, string) {
	value, err := one(ctx, s, g)
	if err != nil {
		return rollout.Unclear, err.Error()
	}
	text := strconv.FormatFloat(value, 'g', 6, 64)
	switch {
	case math.IsNaN(value):
		return rollout.Unclear, "the value is not a number: there is probably no data"
	case g.Min != nil && value < *g.Min:
		return rollout.Fail, fmt.Sprintf("the value is %s, and must be at least %g", text, *g.Min)
	case g.Max != nil && value > *g.Max:
		return rollout.Fail, fmt.Sprintf("the value is %s, and may be at most %g", text, *g.Max)
	}
	return rollout.Pass, "the value is " + text
}

// one returns the only value of the query of a gate.
func one(ctx context.Context, s Secrets, g rollout.Gate) (float64, error) {
	kind, result, err := query(ctx, s, g)
	if err != nil {
		return 0, err
	}
	return valueOf(kind, result)
}

// query returns the type and the JSON text of the result of the query of a gate. The errors do not contain its token.
func query(ctx context.Context, s Secrets, g rollout.Gate) (kind string, result json.RawMessage, err error) {
	address := strings.TrimSuffix(g.URL, "/") + "/api/v1/query?" + url.Values{"query": {g.Query}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", nil, fmt.Errorf("cannot create the query: %w", err)
	}
	token, err := authorize(s, req, g.Token)
	if err != nil {
		return "", nil, err
	}
	status, body, err := send(req)
	if err != nil {
		return "", nil, err
	}
	body = []byte(hideToken(string(body), token))
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", nil, fmt.Errorf("%s answers %d without JSON, so it is probably not Prometheus", req.URL.Host, status)
	}
	if answer.Status != "success" || status != http.StatusOK {
		return "", nil, fmt.Errorf("%s refuses the query: %.200s", req.URL.Host, hideToken(answer.Error, token))
	}
	return answer.Data.ResultType, answer.Data.Result, nil
}

// valueOf returns the only value of a result.
func valueOf(kind string, result json.RawMessage) (float64, error) {
	var pair []any // time and value
	var err error
	switch kind {
	case "scalar":
		err = json.Unmarshal(result, &pair)
	case "vector":
		var all []struct{ Value []any }
		if err = json.Unmarshal(result, &all); err == nil && len(all) != 1 {
			return 0, fmt.Errorf("the query returns %d values, and must return one: use sum or max", len(all))
		}
		if err == nil {
			pair = all[0].Value
		}
	default:
		return 0, fmt.Errorf("the query returns a %.20s, and must return one value", kind)
	}
	if err != nil {
		return 0, errors.New("cannot read the value of the query")
	}
	return valueOfPair(pair)
}

// valueOfPair returns the value of a pair of a time and a value.
func valueOfPair(pair []any) (float64, error) {
	if len(pair) != 2 {
		return 0, errors.New("cannot read the value of the query")
	}
	text, _ := pair[1].(string)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read the value %.40q of the query", text)
	}
	return value, nil
}
