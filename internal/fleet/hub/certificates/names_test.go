package certificates

import (
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/query"
)

// The first rule that selects the target and the name decides, and the strictest decision about a
// name wins.
func TestJudgeNames(t *testing.T) {
	rule := func(v fleet.Verdict, selects string, names ...string) fleet.CertificateRule {
		return fleet.CertificateRule{Select: []string{selects}, Names: names, Answer: v}
	}
	rules := []fleet.CertificateRule{
		rule(fleet.Reject, "gone,web2", "*.web.example.org"),
		rule(fleet.Allow, "label:role=web", "*.web.example.org", "10.0.0.0/8", "2001:db8::1"),
		rule(fleet.Hold, "*", "*.example.org"),
		rule(fleet.Allow, "label:own=yes", "@own"),
		rule(fleet.Allow, "web[", "broken"),
	}
	web := query.Target{Name: "web1", Labels: map[string]string{"role": "web", "own": "yes"}}
	db := query.Target{Name: "db1", Labels: map[string]string{"role": "db"}}
	web2 := query.Target{Name: "web2", Labels: web.Labels}
	for _, c := range []struct {
		target query.Target
		names  []string
		want   fleet.Verdict
	}{
		{web, []string{"a.web.example.org"}, fleet.Allow}, {web2, []string{"a.web.example.org"}, fleet.Reject},
		{db, []string{"a.web.example.org"}, fleet.Reject},
		{web, []string{"a.b.web.example.org"}, fleet.Reject}, {web, []string{"web.example.org"}, fleet.Hold},
		{web, []string{"a.web.example.org", "b.example.org"}, fleet.Hold},
		{web, []string{"a.web.example.org", "b.example.com"}, fleet.Reject}, {web, []string{"10.1.2.3"}, fleet.Allow},
		{web, []string{"11.1.2.3"}, fleet.Reject},
		{web, []string{"2001:db8::1"}, fleet.Allow}, {web, []string{"2001:db8::2"}, fleet.Reject},
		{db, []string{"10.1.2.3"}, fleet.Reject},
		{web, []string{"web1"}, fleet.Allow}, {db, []string{"db1"}, fleet.Hold}, {db, []string{"web1"}, fleet.Reject},
		{db, []string{"broken"}, fleet.Hold},
	} {
		if got, why := judgeNames(rules, c.target, c.names); got != c.want {
			t.Errorf("%s of %v: %s, %s", c.names, c.target.Name, got, why)
		}
	}
	for pattern, good := range map[string]bool{"a.example.org": true, "*.example.org": true, "@own": true,
		"10.0.0.0/8": true, "192.0.2.1": true, "*": false, "w*.example.org": false, "A.org": false, "": false,
		"a b": false, "@other": false} {
		if err := CheckRule(rule(fleet.Hold, "*", pattern)); (err == nil) != good {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	for _, r := range []fleet.CertificateRule{{}, rule("perhaps", "*", "a"), rule(fleet.Hold, "@failed", "a"),
		rule(fleet.Hold, "web[", "a")} {
		if CheckRule(r) == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}
