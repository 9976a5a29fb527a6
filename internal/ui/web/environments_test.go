package web_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/fakehub"
)

// TestEnvironmentsPage: environments have their verdict, branch and end. The ones that ended come last. Rules have the
// branches that wait.
func TestEnvironmentsPage(t *testing.T) {
	s, _ := scopedSite(t, nil, "read")
	page := read(s, "/environments").Body.String()
	inOrder(t, page, `aria-current="page">Environments`,
		`href="/scopes/environment/production"`, "ready", "company", "example.org", "2 of 2",
		`href="/scopes/environment/review-7"`, "failed", "staging", "review/7", `href="/commits/4f4f`, ">4f4f4f4f",
		"with its branch", "review-7.staging.example.org", "reviews", "by the rule review of jane", "the check shop succeeds",
		`href="/scopes/environment/staging"`,
		`scope="row">fix-3`, "ended", "fix-3", "only web", "2026-11-21", "try the proxy", "by jane",
		"Rules for branches", `scope="row">review<`, "<code>review/*</code>", "2 of review-*", "1 of 10",
		"review/8: it needs 2 targets", "fettle environment list", "$HUB/v1/environments")
	if strings.Contains(page, "<form class=\"orders\"") {
		t.Error("the page changes something")
	}
	empty := read(siteOf(t, fakehub.Large{N: 3}), "/environments").Body.String()
	inOrder(t, empty, "declares no environments", "No rule creates environments")
}

// TestManyEnvironments: the page has up to 200 environments, and for each rule up to 20 branches that wait.
func TestManyEnvironments(t *testing.T) {
	var all []document.Environment
	rule := document.EnvironmentRule{Name: "review", Error: "<b>no answer</b>"}
	for i := range 300 {
		all = append(all, document.Environment{Name: fmt.Sprintf("e%03d", i), State: document.EnvironmentEnded})
		rule.Waiting = append(rule.Waiting, document.WaitingBranch{Branch: fmt.Sprintf("review/%d", i)})
	}
	all[299].State = document.EnvironmentInForce
	s := siteOf(t, fakehub.Environments{Hostile: fakehub.Hostile{Rights: []string{"read"}}, All: all, Rule: rule})
	page := read(s, "/environments").Body.String()
	inOrder(t, page, `scope="row">e299`, "unknown", `scope="row">e000`, "100 more environments",
		"&lt;b&gt;no answer", "review/19", "280 more")
	if n := len(elements(t, page)); n > 4000 {
		t.Errorf("the page has %d elements", n)
	}
}
