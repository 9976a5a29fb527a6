package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// visit is one request for a page.
type visit struct {
	*http.Request
	client *client.Client
	user   document.CurrentUser
	now    time.Time
	asks   *asks // that are open at the same time
	host   *Host // of a site without a hub, or nil
	runs   *hostRuns
}

// page is the content of a page.
type page struct {
	Title string
	Tab   string // the path of its tab in the navigation
	// Template is the name of the file below templates, without its suffix. Data are its values.
	Template string
	Data     any
	// Command and Address return the same data: a command of fettle, and the path of a route.
	Command, Address string
	// Picture is an SVG, instead of a template.
	Picture []byte
	// Still means that the page does not update itself.
	Still bool
	// Problem is the reason why the page has no data.
	Problem *document.Problem
}

// shown is the data of a template.
type shown struct {
	*page
	User    document.CurrentUser
	Now     time.Time
	Path    string // with the query
	SignOut string
	Flash   string
	Host    *Host
}

// May reports whether the user has a right for the whole organization.
func (v *visit) May(r access.Right) bool { return may(v.user, r) }

// May reports whether the user has a right for the whole organization.
func (s shown) May(right string) bool { return may(s.User, access.Right(right)) }

// MayOnSome reports whether the user has the right operate for some targets, perhaps not for that of the page.
func (s shown) MayOnSome() bool { return mayOperate(s.User) }

func mayOperate(u document.CurrentUser) bool {
	return may(u, access.Operate) || slices.ContainsFunc(u.Grants,
		func(g document.UserGrant) bool { return g.Role == string(access.Operator) })
}

// Tenant reports whether the user cannot use the pages of the whole fleet: the user belongs to an organization, or can
// read only some targets.
func (s shown) Tenant() bool { return isTenant(s.User) }

func isTenant(u document.CurrentUser) bool { return u.Organization != "" || !may(u, access.Read) }

// Alone reports whether the page is of a site without a hub.
func (s shown) Alone() bool { return s.Host != nil }

func may(u document.CurrentUser, r access.Right) bool { return slices.Contains(u.Rights, string(r)) }

// problemOf returns an error as a problem.
func problemOf(err error) *document.Problem {
	if p, ok := errors.AsType[*document.Problem](err); ok {
		return p
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &document.Problem{Title: "The hub does not answer", Status: http.StatusGatewayTimeout, Detail: err.Error()}
	}
	return &document.Problem{Title: "The page cannot be read", Status: http.StatusBadGateway, Detail: err.Error(),
		Hint: "See the state of the hub: fettle hub check"}
}

func noPage(v *visit) (*page, error) {
	return nil, &document.Problem{Title: "There is no such page", Status: http.StatusNotFound,
		Detail: fmt.Sprintf("cannot find %.200q", v.URL.Path)}
}

// pageFunc reads the data of a page.
type pageFunc func(*visit) (*page, error)

// get reads from a route without values in its path.
func get[A, Out any](v *visit, r route.Route[A, route.None, Out], at A) (Out, error) {
	return client.GetAt(v.Context(), v.client, r, at)
}

// address returns the path of a route with its values. In double quotes, no character of it is special for a shell.
func address[A, In, Out any](r route.Route[A, In, Out], at A) string {
	return strings.NewReplacer("$", "%24", "`", "%60", "!", "%21").Replace(r.Address(at))
}

// commandOf returns a command line that a user can copy: a shell passes each word as it is. A word can come from a link
// of another user.
func commandOf(words ...string) string {
	for i, w := range words {
		if !plainWord().MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`) })

// shareKey identifies visits that share a rendering: the users have the same organization and the same rights. The main
// part of a page depends on the name of a user only if the user can approve or has grants.
func shareKey(v *visit) string {
	name := ""
	if v.May(access.Approve) || len(v.user.Grants) > 0 {
		name = v.user.Name
	}
	return strings.Join(append([]string{name, v.URL.RequestURI(), "@" + v.user.Organization},
		slices.Sorted(slices.Values(v.user.Rights))...), " ")
}
