package differences

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/lang/eval"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/secret"
)

// checkFor is the time limit of CheckEnvironment. Users wait for it.
const checkFor = 8 * time.Second

// CheckEnvironment returns the errors in the modules and variables of an environment, sorted:
//
//   - modules that its branch does not have
//   - errors that do not occur without the variables. A variable that no module declares is an error
//   - variables that have a secret value on another level
//
// It evaluates the targets with their reported facts, and with the content of the branch, "" for the branch that the
// fleet follows. err is the reason why it cannot evaluate them now.
func (s *Service) CheckEnvironment(ctx context.Context, e assign.Environment) (wrong []string, err error) {
	if len(e.Vars)+len(e.Modules) == 0 {
		return nil, nil
	}
	if s.Compiler == nil {
		return nil, errors.New("this hub has no compiler")
	}
	ctx, cancel := context.WithTimeout(ctx, min(checkFor, s.Timeout))
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, errors.New("the hub computes a comparison")
	}
	c := &checking{work: &work{Config: s.Config, ctx: ctx}, environment: e, wrong: map[string]bool{}}
	defer c.close()
	if err = c.compose(); err == nil && len(c.wrong) == 0 && len(e.Vars) > 0 {
		err = c.check()
	}
	if err == nil && ctx.Err() != nil {
		err = errors.New("it takes too much time")
	}
	return slices.Sorted(maps.Keys(c.wrong)), err
}

// checking is one check of the variables of an environment.
type checking struct {
	*work
	environment assign.Environment
	targets     []fleet.Target
	trees       [2]repo.Tree // without and with the variables
	wrong       map[string]bool
}

// compose makes the trees from which the targets are evaluated.
func (c *checking) compose() error {
	top, modules, err := c.parts(c.environment.Branch)
	if err == nil && len(c.environment.Modules) > 0 {
		own := modules
		if top, modules, err = c.parts(""); err == nil {
			for _, m := range c.environment.Modules {
				if modules[m] = own[m]; own[m] == nil {
					c.wrong[fmt.Sprintf("the branch %s has no %s", c.environment.Branch, m)] = true
				}
			}
		}
	}
	for i := range c.trees {
		if err == nil && len(c.wrong) == 0 {
			c.trees[i], err = content.Compose(top, modules, assign.EnrolledOf(c.registry(i == 1)))
		}
	}
	return err
}

// registry returns all targets with their environments.
func (c *checking) registry(vars bool) []fleet.Target {
	e, all := c.environment, c.Records.Environments.Values()
	if !vars {
		e.Vars = nil
	}
	all = slices.DeleteFunc(all, func(o assign.Environment) bool { return o.Name == e.Name })
	targets := assign.InEnvironments(c.Records.Targets.Values(), append(all, e), c.Now().Unix())
	c.targets = slices.DeleteFunc(slices.Clone(targets), func(t fleet.Target) bool {
		return t.Standing != fleet.Active || !slices.Contains(e.Targets, t.ID)
	})
	return targets
}

// parts returns the parts of a branch, "" for the branch of the fleet. They can be read until close.
func (c *checking) parts(branch string) (top repo.Tree, modules map[string]repo.Tree, err error) {
	commit, m, err := c.fetch(c.ctx, cmp.Or(branch, c.Repository().Branch))
	if err != nil {
		return nil, nil, err
	}
	t, err := open(c.ctx, m, commit)
	if err != nil {
		return nil, nil, err
	}
	c.closers = append(c.closers, t.close)
	return split(t.files)
}

// check evaluates the targets.
func (c *checking) check() error {
	facts, err := c.Facts(c.ctx)
	if err != nil {
		return err
	}
	for _, t := range c.targets {
		before, had := c.evaluate(0, t, facts[t.ID])
		_, has := c.evaluate(1, t, facts[t.ID])
		if c.ctx.Err() != nil {
			return nil // an evaluation that was ended has an error
		}
		for text := range has {
			if !had[text] {
				c.wrong[text] = true
			}
		}
		c.secrets(before)
	}
	return nil
}

// evaluate returns the variables of a target and its errors.
func (c *checking) evaluate(i int, t fleet.Target, facts map[string]string) ([]eval.Explained, map[string]bool) {
	found, ds := compile.Ask(c.use(), compile.VariablesQuery{Input: compile.Input{Tree: c.trees[i], Target: t.Name,
		Facts: valuesOf(facts), ReportedFacts: true}})
	wrong := map[string]bool{}
	for _, d := range ds {
		if d.Severity == diag.Error {
			wrong[textOf(d)] = true
		}
	}
	return found, wrong
}

// textOf returns an error with its place, unless the place is in a file that hubs make.
func textOf(d diag.Diagnostic) string {
	if fleet.IsEnrolledFile(d.Range.File) {
		d.Range = diag.Range{}
	}
	return strings.Replace(d.String(), "error: ", "", 1)
}

// secrets adds the variables of the environment that have a secret value without it.
func (c *checking) secrets(found []eval.Explained) {
	for _, v := range found {
		if _, set := c.environment.Vars[v.Name]; set && v.Value == secret.Hidden {
			c.wrong[fmt.Sprintf("%s: The variable %q has a secret value. Values of an environment are not secret. Change the "+
				"value in the branch.", v.Range, v.Name)] = true
		}
	}
}
