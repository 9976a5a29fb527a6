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
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	home, shell := kind.PathAttr("home", "home directory; default: /home/NAME"),
		kind.PathAttr("shell", "login shell; default: /bin/sh")
	home.Required, shell.Required = false, false
	return kind.Kind{
		Name: "user", Main: "name", Steps: steps,
		Doc: "An account. Memberships in groups that \"groups\" does not list do not change. With ensure = \"absent\" the " +
			"account is removed, and its home directory stays.",
		Attrs: []kind.Attr{
			{Name: "name", Type: cty.String, Required: true, Doc: "name of the account; default: the label",
				Check: kind.CheckName},
			{Name: "uid", Type: cty.Number, Doc: "user id; default: the next free id", Check: kind.CheckID},
			{Name: "group", Type: cty.String, Doc: "primary Unix group; default: a group with the name of the account",
				Check: kind.CheckAccount},
			{Name: "groups", Type: cty.List(cty.String), Doc: "supplementary groups", Check: checkGroups},
			home, shell,
			{Name: "comment", Type: cty.String, Doc: "full name (GECOS)", Check: checkComment},
			{Name: "password_hash", Type: cty.String,
				Doc:   "hash of the password as printed by mkpasswd, as a secret: secret(\"…\"); default: unchanged",
				Check: checkHash, Secret: true},
			{Name: "system", Type: cty.Bool, Doc: "a system account: an id below 1000, no new home directory"},
			{Name: "create_home", Type: cty.Bool,
				Doc: "create the home directory with the account; default: true, false for system accounts"},
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
			return fmt.Errorf("the group %q occurs twice in groups", g.AsString())
		}
		seen[g.AsString()] = true
	}
	return nil
}

// checkComment keeps out what would break a line of passwd(5).
func checkComment(v cty.Value) error {
	if strings.ContainsAny(v.AsString(), ":\n\r\x00") {
		return fmt.Errorf("a comment cannot contain colons or line breaks, and this is %q", v.AsString())
	}
	return nil
}

// checkHash refuses a hash that did not come of a secret.
func checkHash(cty.Value) error {
	return fmt.Errorf("the password can be guessed from its hash, so the hash must be a secret: " +
		"store it with fettle secret set, and write secret(\"…\")")
}

// password is the hash as a reference, with the blob that it refers to; none where
// the state says nothing of a password.
func password(s kind.State) (attr step.Attr, blobs []kind.Blob, ds diag.List) {
	if !s.Given("password_hash") {
		return attr, nil, nil
	}
	v, marks := s.Attrs["password_hash"].Unmark()
	key, opened := secret.KeyOf(kind.Marks(marks))
	if hash := v.AsString(); opened && key != (secret.Key{}) &&
		(len(hash) < 2 || strings.ContainsAny(hash, ": \t\n\r\x00") || !strings.HasPrefix(hash, "$")) {
		return attr, nil, s.Errorf("password_hash", "No hash of a password",
			"The secret is not a hash of crypt(3), which begins with $ and has no blanks and colons. Create it with: "+
				"mkpasswd -m yescrypt | fettle secret set NAME")
	}
	attr, blob := kind.Referring("password", v.AsString(), key)
	return attr, []kind.Blob{blob}, nil
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
	hash, blobs, ds := password(s)
	if ds.HasErrors() {
		return kind.Output{}, ds
	}
	out, ds := s.One(step.User, []string{name},
		step.Attr{Key: "uid", Value: s.Number("uid")},
		step.Attr{Key: "group", Value: s.Str("group")},
		step.Attr{Key: "home", Value: s.Str("home")},
		step.Attr{Key: "shell", Value: s.Str("shell")},
		step.Attr{Key: "comment", Value: s.Str("comment")},
		hash,
		step.Attr{Key: "system", Value: s.Flag("system")},
		step.Attr{Key: "create_home", Value: createHome})
	out.Blobs = blobs
	for _, g := range s.Strings("groups") {
		member, more := s.Step(step.Member, []string{name, g})
		ds = append(ds, more...)
		out.Steps = append(out.Steps, member)
	}
	return out, ds
}
