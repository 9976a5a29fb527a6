package gates

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// QuestionFormat is the format of the body that a webhook gets.
const QuestionFormat = "fettle.fleet.gate/1"

// Question is the body that a webhook gets.
type Question struct {
	Format  string   `json:"format"`
	Rollout string   `json:"rollout"`
	Wave    string   `json:"wave"`
	Gate    string   `json:"gate"`
	Cause   string   `json:"cause"`
	Author  string   `json:"author,omitempty"` // of the commit, as git shows it
	Parts   []string `json:"parts"`
}

// askWebhook asks another program. The status 202 means that it reports its verdict later.
func askWebhook(ctx context.Context, s Secrets, d rollout.Due) (rollout.Verdict, string) {
	req, err := webhookRequest(ctx, s, d)
	if err != nil {
		return rollout.Unclear, err.Error()
	}
	status, body, err := send(req)
	switch {
	case err != nil:
		return rollout.Unclear, err.Error()
	case status == http.StatusAccepted:
		return rollout.Later, "it will report its verdict"
	case status != http.StatusOK:
		return rollout.Unclear, fmt.Sprintf("%s answers %d", req.URL.Host, status)
	}
	var answer struct {
		Verdict rollout.Verdict
		Reason  string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return rollout.Unclear, fmt.Sprintf("the answer of %s is not JSON", req.URL.Host)
	}
	switch answer.Verdict {
	case rollout.Pass, rollout.Fail, rollout.Unclear, rollout.Later:
		return answer.Verdict, fmt.Sprintf("%.500s", answer.Reason)
	}
	return rollout.Unclear, fmt.Sprintf("%s answers the verdict %.40q instead of pass, fail, error or pending",
		req.URL.Host, string(answer.Verdict))
}

func webhookRequest(ctx context.Context, s Secrets, d rollout.Due) (*http.Request, error) {
	q := Question{Format: QuestionFormat, Rollout: d.Rollout, Wave: d.Plan.Waves[d.Wave].Name, Gate: d.Gate.Name,
		Cause: d.Plan.Cause, Author: d.Plan.Git, Parts: []string{}}
	for _, c := range d.Plan.Changes {
		q.Parts = append(q.Parts, c.Part)
	}
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Gate.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("cannot create the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%d-%d", d.Rollout, d.Wave, d.Period))
	if d.Gate.Secret != "" {
		secret, err := s.Secret(d.Gate.Secret)
		if err != nil {
			return nil, err
		}
		req.Header.Set(notify.SignatureHeader, notify.Signature(secret, body))
	}
	return req, nil
}
