package environments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/selection"
)

var ruleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9]{0,29}$`) })

var branchPattern = sync.OnceValue(
	func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_./-]*)?\*[A-Za-z0-9_./-]*$`)
	})

// checkRule refuses values that no rule can have.
func checkRule(r records.EnvironmentRule) error {
	refuse := func(why string, args ...any) error {
		return &api.Refusal{Status: api.BadRequest, Why: fmt.Sprintf(why, args...),
			Hint: "See: fettle environment follow --help"}
	}
	if err := (assign.Environment{Name: r.Name, Parent: r.Parent, Vars: r.Vars}).Check(); err != nil {
		return refuse("%s", err)
	}
	for _, m := range r.Modules {
		if err := checkModule(m); err != "" {
			return refuse("%s", err)
		}
	}
	_, err := selection.Parse(r.Select)
	switch {
	case !ruleName().MatchString(r.Name):
		return refuse("cannot use %.70q as the name of a rule: a name has up to 30 lower-case letters and digits, and "+
			"begins with a letter", r.Name)
	case strings.HasPrefix(r.Branches, "refs/"):
		return refuse("cannot use %.70q as a pattern of branches: leave out refs/heads/. Other refs are not "+
			"followed, because targets run the content of a branch as root, and users without write access can create "+
			"proposals", r.Branches)
	case !branchPattern().MatchString(r.Branches) || len(r.Branches) > 200 || strings.Contains(r.Branches, "..") ||
		strings.Contains(r.Branches, "//"):
		return refuse("cannot use %.70q as a pattern of branches: it has one *, as in review/*", r.Branches)
	case len(r.Select) == 0:
		return refuse("cannot create a rule without targets")
	case err != nil:
		return refuse("%s", err)
	case r.Each < 1 || r.Each > maxEnvironments || r.Max < 1 || r.Max > maxEnvironments:
		return refuse("the number of targets and the number of environments must be from 1 to %d", maxEnvironments)
	case r.Keep < 0 || r.Keep > int64(maxKeep/time.Second):
		return refuse("an environment can exist for up to 30 days after its branch is deleted")
	}
	return nil
}

// FollowBranches stores a rule. It replaces a rule with the same name. The same rule again changes nothing.
func (s Service) FollowBranches(ctx context.Context, by api.Caller,
	q document.EnvironmentRuleRequest) (document.Done, error) {
	r := records.EnvironmentRule{Name: q.Name, Branches: q.Branches, Parent: q.Parent, Select: q.Select, Each: q.Each,
		Max: q.Max, Keep: q.Keep / int64(time.Second), Vars: q.Vars, By: by.Name, Reason: q.Reason, At: s.Now().UnixNano()}
	for _, m := range q.Modules {
		r.Modules = append(r.Modules, api.Directory(m))
	}
	slices.Sort(r.Modules)
	if err := checkRule(r); err != nil {
		return document.Done{}, err
	}
	old, rev, exists := s.Records.EnvironmentRules.Get(r.Name)
	switch {
	case exists && sameRule(old, r):
		return api.Done(nil, "The rule %s exists already.", r.Name)
	case !exists && len(s.Records.EnvironmentRules.Values()) >= maxRules:
		return document.Done{}, &api.Refusal{Status: api.Conflict,
			Why:  fmt.Sprintf("cannot create the rule %s: %d rules exist, which is the maximum", r.Name, maxRules),
			Hint: "Remove one: fettle environment unfollow RULE"}
	}
	declared := s.declared()
	members, is := declared[r.Parent]
	if !is {
		return document.Done{}, &api.Refusal{Status: api.Conflict,
			Why:  fmt.Sprintf("cannot create the rule %s: the repository declares no environment %.70q", r.Name, r.Parent),
			Hint: nearest(r.Parent, declared)}
	}
	unchecked, err := s.checkContent(ctx, "the rule "+r.Name, s.example(r, members))
	if err != nil {
		return document.Done{}, err
	}
	err = s.Records.EnvironmentRules.Put(ctx, r.Name, r, rev)
	if errors.Is(err, fleet.ErrConflict) {
		err = changed(r.Name)
	}
	return api.Done(err, "Branches that match %s get environments %s from %s.%s", r.Branches, r.Name+"-*",
		r.Parent, unchecked)
}

// example returns an environment with the variables of a rule, the branch that the fleet follows, and all members of
// the parent. It is not stored.
func (s Service) example(r records.EnvironmentRule, members map[string]bool) assign.Environment {
	e := assign.Environment{Name: r.EnvironmentName("example"), Parent: r.Parent, Vars: r.Vars,
		Until: s.Now().Add(time.Minute).Unix()}
	for _, t := range s.Records.Targets.Values() {
		if t.Standing == fleet.Active && members[t.Name] {
			e.Targets = append(e.Targets, t.ID)
		}
	}
	return e
}

func sameRule(a, b records.EnvironmentRule) bool {
	return a.Branches == b.Branches && a.Parent == b.Parent && slices.Equal(a.Select, b.Select) && a.Each == b.Each &&
		a.Max == b.Max && a.Keep == b.Keep && slices.Equal(a.Modules, b.Modules) && maps.Equal(a.Vars, b.Vars)
}

// UnfollowBranches removes a rule, and ends its environments. Without a rule it does nothing.
func (s Service) UnfollowBranches(ctx context.Context, by api.Caller, at route.EnvironmentRuleName,
	r document.ReasonRequest) (document.Done, error) {
	_, _, exists := s.Records.EnvironmentRules.Get(at.Rule)
	before := s.Records.Environments.Values()
	err := errors.Join(s.Records.EnvironmentRules.Remove(ctx, at.Rule), s.Records.FollowedBranches.Remove(ctx, at.Rule))
	if err != nil || !exists {
		return api.Done(err, "This hub has no rule %s.", at.Rule)
	}
	ended := 0
	for _, e := range before {
		if e.Rule != at.Rule || !e.InForce(s.Now().Unix()) {
			continue
		}
		ended++
		_, rev, _ := s.Records.Environments.Get(e.Name)
		e.Until = s.Now().Unix()
		// After an error the leading hub ends it soon, or has ended it already.
		if err := s.Records.Environments.Put(ctx, e.Name, e, rev); err == nil {
			s.note(ctx, by.Principal, e, "ends with the rule "+at.Rule, r.Reason)
		}
	}
	return api.Done(nil, "The rule %s is removed. Environments that end: %d.", at.Rule, ended)
}

// Rules returns the rules with the results of the last poll, sorted by name.
func (s Service) Rules(context.Context) (document.EnvironmentRulePage, error) {
	out := document.EnvironmentRulePage{Format: document.EnvironmentRulePageFormat, Rules: []document.EnvironmentRule{}}
	for _, r := range s.Records.EnvironmentRules.Values() {
		f, _, polled := s.Records.FollowedBranches.Get(r.Name)
		d := document.EnvironmentRule{Name: r.Name, Branches: r.Branches, Parent: r.Parent, Select: r.Select, Each: r.Each,
			Max: r.Max, Keep: r.Keep * int64(time.Second), Modules: r.Modules, Vars: r.Vars, By: r.By, Reason: r.Reason,
			At: r.At, Polled: polled, Error: f.Error, Environments: []string{}, Waiting: []document.WaitingBranch{}}
		for _, e := range s.Records.Environments.Values() {
			if e.Rule == r.Name && e.InForce(s.Now().Unix()) {
				d.Environments = append(d.Environments, e.Name)
			}
		}
		for _, w := range f.Waiting {
			d.Waiting = append(d.Waiting, document.WaitingBranch{Branch: w.Branch, Why: w.Why})
		}
		out.Rules = append(out.Rules, d)
	}
	return out, nil
}
