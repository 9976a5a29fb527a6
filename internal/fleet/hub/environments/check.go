package environments

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// checkValues refuses values that no environment can have.
func (s Service) checkValues(e assign.Environment) error {
	why := ""
	if err := e.Check(); err != nil {
		why = err.Error()
	}
	for _, m := range e.Modules {
		why = cmp.Or(checkModule(m), why)
	}
	if why == "" {
		return nil
	}
	return &api.Refusal{Status: api.BadRequest, Why: why, Hint: "See: fettle environment create --help"}
}

// checkModule returns the reason why a module cannot follow a branch, or "".
func checkModule(m string) string {
	if content.PartOf(m) == m && m != content.RootBundle {
		return ""
	}
	return fmt.Sprintf("cannot use %.70q as a module: name a directory of modules/", m)
}

// check refuses an environment that cannot begin now.
func (s Service) check(ctx context.Context, e assign.Environment) error {
	refuse := func(hint, why string, args ...any) error {
		return &api.Refusal{Status: api.Conflict,
			Why: fmt.Sprintf("cannot create the environment %s: %s", e.Name, fmt.Sprintf(why, args...)), Hint: hint}
	}
	inForce, now := 0, s.Now().Unix()
	for _, o := range s.Records.Environments.Values() {
		if o.InForce(now) {
			inForce++
		}
	}
	if inForce >= maxEnvironments {
		return refuse("Remove one: fettle environment list, then fettle environment remove NAME",
			"%d environments are in force, which is the maximum", inForce)
	}
	declared := s.declared()
	members, ok := declared[e.Parent]
	switch {
	case declared[e.Name] != nil:
		return refuse("Use another name", "the repository declares an environment of this name")
	case !ok && len(declared) == 0:
		return refuse("Declare it in fettle.hcl: docs/scopes.md", "the repository declares no environment %.70q", e.Parent)
	case !ok:
		return refuse(nearest(e.Parent, declared), "the repository declares no environment %.70q", e.Parent)
	}
	if e.Domain != "" {
		if other := s.domainOf(e.Domain, e.Name); other != "" {
			return refuse("Use another domain", "the environment %s has the domain %s", other, e.Domain)
		}
	}
	if hint, why := s.checkTargets(e, members); why != "" {
		return refuse(hint, "%s", why)
	}
	has, err := s.HasRef(ctx, e.Branch)
	switch {
	case err != nil:
		return refuse("See the state of the repository: fettle status --fleet", "cannot find its branch: %s", err)
	case !has:
		return refuse("Push the branch first", "the repository has no branch or tag %.70q", e.Branch)
	}
	return nil
}

// nearest returns the next step of a user who named an environment that the repository does not declare.
func nearest[T any](name string, declared map[string]T) string {
	if near := diag.Nearest(name, names(declared), 3); near != "" {
		return "Did you mean: " + near
	}
	return "See: fettle scope list"
}

// maxWrong is the number of errors that a user gets.
const maxWrong = 5

// checkContent refuses modules that the branch does not have, and variables that cause errors on the targets of an
// environment. The text of its error begins with "cannot create" and the argument what. If the content cannot be
// checked, unchecked is the reason, for the user.
func (s Service) checkContent(ctx context.Context, what string, e assign.Environment) (unchecked string, err error) {
	if s.CheckEnvironment == nil {
		return "", nil
	}
	wrong, err := s.CheckEnvironment(ctx, e)
	switch {
	case len(wrong) > 0:
		more := ""
		if n := len(wrong) - maxWrong; n > 0 {
			wrong, more = wrong[:maxWrong], fmt.Sprintf("\n%d more errors", n)
		}
		return "", &api.Refusal{Status: api.BadRequest,
			Why:  fmt.Sprintf("cannot create %s: %s%s", what, strings.Join(wrong, "\n"), more),
			Hint: "See the variables of a target: fettle explain var NAME -t TARGET"}
	case err != nil && ctx.Err() == nil:
		return fmt.Sprintf(" Its variables and modules were not checked: %s. See: fettle alarm list", err), nil
	}
	return "", ctx.Err()
}

// checkTargets returns the reason why a target cannot be in an environment, or "".
func (s Service) checkTargets(e assign.Environment, members map[string]bool) (hint, why string) {
	of := assign.EnvironmentsOf(s.Records.Environments.Values(), s.Now().Unix())
	for _, id := range e.Targets {
		t, _, _ := s.Records.Targets.Get(string(id))
		pinned := t.Pin != nil && (t.Pin.Until == 0 || s.Now().Unix() < t.Pin.Until)
		switch other, in := of[id]; {
		case in && other.Name != e.Name:
			return "Remove it first: fettle environment remove " + other.Name,
				fmt.Sprintf("the target %s is in the environment %s until %s", t.Name, other.Name, until(other))
		case pinned:
			return "Remove the pin first: fettle target unpin " + t.Name,
				fmt.Sprintf("the target %s is pinned to %s", t.Name, t.Pin.Ref)
		case !members[t.Name]:
			return "List its members: fettle scope show " + assign.EnvironmentKind + "/" + e.Parent,
				fmt.Sprintf("the target %s is not a member of %s", t.Name, e.Parent)
		}
	}
	return "", ""
}

func names[T any](of map[string]T) (out []string) {
	for name := range of {
		out = append(out, name)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
