// Package user is the kind user: an account, and the supplementary groups that
// it is in.
//
//	user "alice" {
//	  comment = "Alice Example"
//	  shell   = "/bin/bash"
//	  groups  = ["sudo", "adm"]
//	}
package user

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	home, shell := kind.PathAttr("home", "home directory; /home/NAME when left out"), kind.PathAttr("shell", "login shell; /bin/sh when left out")
	home.Required, shell.Required = false, false
	return kind.Kind{
		Name: "user", Main: "name", Steps: steps,
		Doc: "An account. Groups that it is in besides those of groups are left alone. With ensure = \"absent\" the account goes, its home directory stays.",
		Attrs: []kind.Attr{
			{Name: "name", Type: cty.String, Required: true, Doc: "name of the account; the label when left out", Check: kind.CheckName},
			{Name: "uid", Type: cty.Number, Doc: "user id; the next free one when left out", Check: kind.CheckID},
			{Name: "group", Type: cty.String, Doc: "primary Unix group; one of the account's own name when left out", Check: kind.CheckAccount},
			{Name: "groups", Type: cty.List(cty.String), Doc: "supplementary groups", Check: checkGroups},
			home, shell,
			{Name: "comment", Type: cty.String, Doc: "full name (GECOS)", Check: checkComment},
			{Name: "system", Type: cty.Bool, Doc: "a system account: an id below 1000, no home directory made"},
			{Name: "create_home", Type: cty.Bool, Doc: "make the home directory with the account; true when left out, but for system accounts"},
			kind.EnsureAttr(),
		},
	}
}

func checkGroups(v cty.Value) error {
	seen := map[string]bool{}
	for it := v.ElementIterator(); it.Next(); {
		_, g := it.Element()
		if g.IsNull() {
			return fmt.Errorf("a group in groups is null")
		}
		if err := kind.CheckName(g); err != nil {
			return err
		}
		if seen[g.AsString()] {
			return fmt.Errorf("the group %q stands twice in groups", g.AsString())
		}
		seen[g.AsString()] = true
	}
	return nil
}

// checkComment keeps out what would break a line of passwd(5).
func checkComment(v cty.Value) error {
	if strings.ContainsAny(v.AsString(), ":\n\r\x00") {
		return fmt.Errorf("a comment holds neither colons nor line breaks, and this is %q", v.AsString())
	}
	return nil
}

func steps(s kind.State) (kind.Output, diag.List) {
	name := s.Str("name")
	if s.Absent() {
		return s.One(step.User, []string{name}, step.Attr{Key: "ensure", Value: "absent"})
	}
	createHome := s.Flag("create_home")
	if createHome == "" && !s.Bool("system") {
		createHome = "true"
	}
	out, ds := s.One(step.User, []string{name},
		step.Attr{Key: "uid", Value: s.Number("uid")},
		step.Attr{Key: "group", Value: s.Str("group")},
		step.Attr{Key: "home", Value: s.Str("home")},
		step.Attr{Key: "shell", Value: s.Str("shell")},
		step.Attr{Key: "comment", Value: s.Str("comment")},
		step.Attr{Key: "system", Value: s.Flag("system")},
		step.Attr{Key: "create_home", Value: createHome})
	for _, g := range s.Strings("groups") {
		member, more := s.Step(step.Member, []string{name, g})
		ds = append(ds, more...)
		out.Steps = append(out.Steps, member)
	}
	return out, ds
}
