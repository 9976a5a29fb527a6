package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/view"
)

// veryMany is a backend with more targets than an answer can have.
type veryMany struct{ apitest.Backend }

func (b veryMany) Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error) {
	p, err := b.Backend.Targets(ctx, q)
	p.Cursor = "more"
	return p, err
}

// TestJobForVeryManyTargets: a job that would silently omit targets is refused.
func TestJobForVeryManyTargets(t *testing.T) {
	hub := newHub(t)
	h := hub.Handler()
	h.Table = apitest.Table(veryMany{hub})
	w := ask(h, "POST", "/v1/jobs", "admin", `{"what":"verify","select":["web*"]}`)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "more than 10000 targets") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
