package hub_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// ofOrganization moves a target and a user to an organization.
func (w *world) ofOrganization(target, user, of string) {
	w.ask("POST", "/v1/targets/"+target+"/move", document.MoveRequest{Organization: of}, &document.Done{})
	w.ask("POST", "/v1/users", document.UserRequest{Name: user, Roles: []string{"admin"}, Organization: &of},
		&document.Done{})
}

// TestLimitsOfAnOrganization: targets of an organization get a change only after a user approved it for the
// organization, and others do not wait. The repository and users freeze it. A commit that is unusable changes no limit.
func TestLimitsOfAnOrganization(t *testing.T) {
	w := newWorld(t)
	with := func(text, limits string) map[string]string {
		files := site(text, "0s")
		files["fettle.hcl"] += "organization \"acme\" {\n" + limits + "\n}\n"
		return files
	}
	w.commit(with("one", ""))
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	web1, web2, web3 := w.follow("web1", healthy), w.follow("web2", healthy), w.follow("web3", healthy)
	w.ofOrganization("web2", "ann", "acme")
	w.ofOrganization("web3", "eve", "globex")
	ann, eve := w.user("ann", "admin"), w.user("eve", "admin")
	first := until(t, "the first content", func() (string, bool) {
		return web2.has(), web1.has() != "" && web1.has() == web2.has() && web2.has() == web3.has()
	})
	w.commit(with("two", "  approvals = 1"))
	second := until(t, "the second content outside of acme", func() (string, bool) {
		return web1.has(), web1.has() != first && web1.has() == web3.has()
	})
	at := route.OrganizationName{Organization: "acme"}
	waiting := until(t, "the rollout waits", func() (document.OrganizationDetail, bool) {
		d, err := client.Call(t.Context(), ann, route.Organization(), at, route.None{})
		return d, err == nil && len(d.Waiting) == 1
	}).Waiting[0]
	if waiting.Targets != 1 || waiting.Need != 1 || web2.has() != first {
		t.Errorf("%+v, and web2 has %s", waiting, web2.has())
	}
	_, err := client.Call(t.Context(), eve, route.Organization(), at, route.None{})
	if p := (*document.Problem)(nil); !errors.As(err, &p) || p.Status != http.StatusNotFound {
		t.Errorf("globex sees acme: %v", err)
	}
	approve := document.OrganizationApprovalRequest{Rollout: waiting.Rollout}
	if _, err := client.Call(t.Context(), eve, route.ApproveOrganization(), at, approve); err == nil {
		t.Error("a user of globex approves for acme")
	}
	rejected(t, ann, eve, at, waiting.Rollout)
	if _, err := client.Call(t.Context(), ann, route.ApproveOrganization(), at, approve); err != nil {
		t.Fatal(err)
	}
	until(t, "the second content in acme", func() (string, bool) { return web2.has(), web2.has() == second })
	w.rollout(waiting.Rollout, "completed")

	w.commit(with("two", "  freeze = \"audit\""))
	web2.frozen("the organization acme is frozen: audit (the repository)")
	web1.frozen("")
	w.commit(map[string]string{"fettle.hcl": "organization {"})
	if _, err := client.Call(t.Context(), ann, route.FreezeOrganization(), at,
		document.FreezeRequest{Reason: "migration"}); err != nil {
		t.Fatal(err)
	}
	page, err := client.Call(t.Context(), eve, route.Organizations(), route.None{}, route.None{})
	if err != nil || len(page.Organizations) != 1 || page.Organizations[0].Organization != "globex" {
		t.Errorf("%+v, %v", page, err)
	}
	done, err := client.Call(t.Context(), ann, route.UnfreezeTarget(), route.TargetName{Target: "web2"},
		document.ReasonRequest{})
	if err != nil || !strings.Contains(done.Text, "the freeze of the organization acme remains") {
		t.Errorf("%q, %v", done.Text, err)
	}
	w.commit(with("two", ""))
	web2.frozen("the organization acme is frozen: migration (ann)")
	web3.frozen("")
	w.stop()
	w.start()
	web2.frozen("the organization acme is frozen: migration (ann)")
	done, err = client.Call(t.Context(), w.user("ann", "admin"), route.UnfreezeOrganization(), at,
		document.ReasonRequest{})
	if err != nil || !strings.Contains(done.Text, "has ended") {
		t.Errorf("%q, %v", done.Text, err)
	}
	web2.frozen("")
}

// rejected lets a user reject a rollout for an organization. The organization shows the reason, and another rejection
// and other organizations are refused.
func rejected(t *testing.T, ann, eve *client.Client, at route.OrganizationName, id string) {
	t.Helper()
	reject := func(c *client.Client, reason string) int {
		_, err := client.Call(t.Context(), c, route.RejectOrganization(), at,
			document.OrganizationApprovalRequest{Rollout: id, Reason: reason})
		return statusOf(err)
	}
	for what, got := range map[string][2]int{"no reason": {reject(ann, ""), http.StatusBadRequest},
		"another organization": {reject(eve, "no"), http.StatusNotFound},
		"a rejection":          {reject(ann, "the audit is not over"), http.StatusOK}} {
		if got[0] != got[1] {
			t.Errorf("%s: %d, want %d", what, got[0], got[1])
		}
	}
	if status := reject(ann, "again"); status != http.StatusConflict {
		t.Errorf("a second rejection: %d", status)
	}
	d, err := client.Call(t.Context(), ann, route.Organization(), at, route.None{})
	if err != nil || len(d.Waiting) != 1 || d.Waiting[0].Rejected == nil || d.Waiting[0].Rejected.By != "ann" ||
		d.Waiting[0].Rejected.Reason != "the audit is not over" {
		t.Errorf("%+v, %v", d, err)
	}
}
