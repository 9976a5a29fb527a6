// Package account is USER, GROUP and MEMBER: the accounts in the host's own
// files. A deleted account's home directory is not touched.
//
//	USER alice uid=1500 group=staff shell=/bin/bash create_home=true
//	GROUP deploy system=true
//	MEMBER alice deploy
package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// User is USER.
type User struct{}

// Observe implements verb.Verb.
func (User) Observe(_ context.Context, e verb.Env, s step.Step) (image.Image, error) {
	u, err := e.Host.Accounts().User(s.Args[0])
	return image.Of(&u), err
}

// Target implements verb.Verb. The system chooses the number of a new account without a uid: until
// the run, the image has zero.
func (User) Target(s step.Step, now image.Image, n verb.Names) (image.Image, error) {
	u := image.User{}
	if now.User() != nil {
		u = *now.User()
	}
	if s.Absent() {
		return image.Of(&image.User{}), nil
	}
	u.Lines = nil // the lines are the old ones; the fields have the desired state
	if !u.Present {
		u = image.User{Present: true, Home: "/home/" + s.Args[0], Shell: "/bin/sh"}
	}
	if err := wishes(s, &u, n); err != nil {
		return image.Image{}, err
	}
	return image.Of(&u), nil
}

func wishes(s step.Step, u *image.User, n verb.Names) error {
	if v, err := strconv.ParseUint(s.Get("uid"), 10, 32); err == nil && uint32(v) != u.UID {
		u.UID = uint32(v)
		if err := taken(s, addr.KindUser, n.UserName(u.UID), v); err != nil {
			return err
		}
	}
	if g := s.Get("group"); g != "" {
		gid, err := n.GID(g)
		if err != nil {
			return err
		}
		u.GID = gid
	}
	set(&u.Home, s, "home")
	set(&u.Shell, s, "shell")
	set(&u.Comment, s, "comment")
	set(&u.Password, s, "password")
	return nil
}

// taken is an error where a number belongs to another account. has is its name, or the
// number itself where no account has it.
func taken(s step.Step, what addr.Kind, has string, number uint64) error {
	if has == s.Args[0] || has == strconv.FormatUint(number, 10) || has == "" {
		return nil
	}
	return &verb.TakenError{By: addr.New(what, has),
		Err: fmt.Errorf(
			"cannot give %s %q the number %d: %s %q has it; choose another number, or change or remove that %s before this step",
			what, s.Args[0], number, what, has, what)}
}

func set(field *string, s step.Step, key string) {
	if v, ok := s.Lookup(key); ok {
		*field = v
	}
}

// Move implements verb.Mover.
func (User) Move(ctx context.Context, e verb.Env, s step.Step, _, to image.Image) error {
	fresh := len(to.User().Lines) == 0 // not an account to restore
	create := host.NewUser{
		System:     s.Get("system") == "true",
		CreateHome: s.Get("create_home") == "true",
		AutoUID:    fresh && s.Get("uid") == "",
		OwnGroup:   fresh && s.Get("group") == "",
	}
	u := *to.User()
	if _, speaks := s.Lookup("password"); !speaks {
		u.Password = "" // it stays
	}
	if err := e.Host.Accounts().SetUser(ctx, s.Args[0], u, create); err != nil {
		return fmt.Errorf("cannot set user %q: %w", s.Args[0], err)
	}
	return nil
}

// Group is GROUP.
type Group struct{}

// Observe implements verb.Verb. Members belong to MEMBER steps.
func (Group) Observe(_ context.Context, e verb.Env, s step.Step) (image.Image, error) {
	g, err := e.Host.Accounts().Group(s.Args[0])
	return image.Of(&g), err
}

// Target implements verb.Verb.
func (Group) Target(s step.Step, now image.Image, n verb.Names) (image.Image, error) {
	g := image.Group{}
	if now.Group() != nil {
		g = *now.Group()
	}
	if s.Absent() {
		return image.Of(&image.Group{}), nil
	}
	g.Present, g.Lines, g.Members = true, nil, nil // MEMBER steps manage the members
	if v, err := strconv.ParseUint(s.Get("gid"), 10, 32); err == nil && uint32(v) != g.GID {
		g.GID = uint32(v)
		if err := taken(s, addr.KindGroup, n.GroupName(g.GID), v); err != nil {
			return image.Image{}, err
		}
	}
	return image.Of(&g), nil
}

// Move implements verb.Mover.
func (Group) Move(ctx context.Context, e verb.Env, s step.Step, _, to image.Image) error {
	if err := e.Host.Accounts().SetGroup(ctx, s.Args[0], *to.Group(), s.Get("system") == "true"); err != nil {
		return fmt.Errorf("cannot set group %q: %w", s.Args[0], err)
	}
	return nil
}

// Member is MEMBER.
type Member struct{}

// Observe implements verb.Verb.
func (Member) Observe(_ context.Context, e verb.Env, s step.Step) (image.Image, error) {
	g, err := e.Host.Accounts().Group(s.Args[1])
	if err != nil {
		return image.Image{}, err
	}
	for _, m := range g.Members {
		if m == s.Args[0] {
			return image.Of(&image.Member{Present: true}), nil
		}
	}
	return image.Of(&image.Member{}), nil
}

// Target implements verb.Verb.
func (Member) Target(s step.Step, now image.Image, n verb.Names) (image.Image, error) {
	if !s.Absent() && (now.Member() == nil || !now.Member().Present) {
		_, user := n.UID(s.Args[0])
		_, group := n.GID(s.Args[1])
		if err := errors.Join(user, group); err != nil {
			return image.Image{}, err
		}
	}
	return image.Of(&image.Member{Present: !s.Absent()}), nil
}

// Move implements verb.Mover.
func (Member) Move(ctx context.Context, e verb.Env, s step.Step, _, to image.Image) error {
	if err := e.Host.Accounts().SetMember(ctx, s.Args[0], s.Args[1], to.Member().Present); err != nil {
		return fmt.Errorf("cannot set membership of %q in %q: %w", s.Args[0], s.Args[1], err)
	}
	return nil
}
