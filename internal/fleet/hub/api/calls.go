package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

func (c *call) text(status int, text string) (any, error) {
	c.said = true
	c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	c.w.WriteHeader(status)
	_, err := fmt.Fprintln(c.w, text)
	return nil, err
}

func (c *call) healthz() (any, error) { return c.text(http.StatusOK, "ok") }

// readyz answers only yes or no, because it needs no authentication.
func (c *call) readyz() (any, error) {
	if c.h.Backend.Health(c.r.Context()).Ready {
		return c.text(http.StatusOK, "ready")
	}
	return c.text(http.StatusServiceUnavailable, "not ready")
}

func (c *call) metrics() (any, error) {
	if c.h.Metrics == nil {
		return nil, fail(http.StatusNotFound, "There are no metrics", "this hub was started without metrics", "Start it with metrics")
	}
	c.said = true
	c.h.Metrics.ServeHTTP(c.w, c.r)
	return nil, nil
}

func (c *call) openAPI() (any, error) { return OpenAPI(), nil }

func (c *call) whoami() (any, error) {
	p := document.CurrentUser{Format: document.CurrentUserFormat, Name: c.who.Name, Rights: []string{}, Hub: c.h.Backend.Health(c.r.Context()).Hub}
	for _, r := range Rights() {
		if c.who.May(r) {
			p.Rights = append(p.Rights, string(r))
		}
	}
	return p, nil
}

func (c *call) exports() (any, error) {
	e, err := c.h.Backend.Exports(c.r.Context())
	e.Format = document.ExportsFormat
	return e, err
}

func (c *call) health() (any, error) {
	h := c.h.Backend.Health(c.r.Context())
	h.Format = document.HealthFormat
	if h.Checks == nil {
		h.Checks = []document.Check{}
	}
	return h, nil
}

func (c *call) status() (any, error) {
	s, err := c.h.Backend.Status(c.r.Context(), c.h.Now())
	if err == nil {
		s.Freeze, err = c.h.Backend.FrozenAll(c.r.Context())
	}
	return s, err
}

func (c *call) repositories() (any, error) {
	all, err := c.h.Backend.Repositories(c.r.Context())
	return document.RepositoryPage{Format: document.RepositoryPageFormat, Repositories: append([]document.Repository{}, all...)}, err
}

// number reads a parameter. A missing parameter is 0.
func (c *call) number(name string) (int, error) {
	text := c.one(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fail(http.StatusBadRequest, "The query is wrong", fmt.Sprintf("cannot read %s=%.40q: it must be a number", name, text), "Omit it, or use a number")
	}
	return n, nil
}

func (c *call) one(name string) string {
	if v := c.query[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (c *call) page() (offset, limit int, err error) {
	if offset, err = c.number("offset"); err == nil {
		limit, err = c.number("limit")
	}
	return offset, limit, err
}

func (c *call) targets() (any, error) {
	offset, limit, err := c.page()
	if err != nil {
		return nil, err
	}
	return c.h.Backend.Targets(c.r.Context(), view.TargetQuery{
		Select: c.query["select"], All: c.one("all") == "true", Sort: c.one("sort"), Offset: offset, Limit: limit, Now: c.h.Now(),
	})
}

func (c *call) target() (any, error) {
	return c.h.Backend.Target(c.r.Context(), c.path["target"], c.h.Now())
}

func (c *call) modules() (any, error) { return c.h.Backend.Modules(c.r.Context(), c.h.Now()) }

// Directory returns the directory of a module; users may omit "modules/".
func Directory(name string) string {
	if name == "" || strings.HasPrefix(name, "modules/") {
		return name
	}
	return "modules/" + name
}

func (c *call) module() (any, error) {
	offset, limit, err := c.page()
	if err != nil {
		return nil, err
	}
	return c.h.Backend.Module(c.r.Context(), view.ModuleQuery{Module: Directory(c.path["module"]), Offset: offset, Limit: limit, Now: c.h.Now()})
}

// told reads the query of the events.
func (c *call) told() (view.EventQuery, error) {
	limit, err := c.number("limit")
	q := view.EventQuery{Target: c.one("target"), Module: Directory(c.one("module")), Kinds: c.query["kind"], After: c.one("after"), Limit: limit}
	for _, p := range []struct {
		name string
		at   *time.Time
	}{{"since", &q.Since}, {"until", &q.Until}} {
		if text := c.one(p.name); text != "" && err == nil {
			if *p.at, err = time.Parse(time.RFC3339, text); err != nil {
				err = fail(http.StatusBadRequest, "The query is wrong", fmt.Sprintf("cannot read %s=%.40q as a time", p.name, text), "Write it as 2026-11-21T20:00:00Z")
			}
		}
	}
	return q, err
}

func (c *call) events() (any, error) {
	q, err := c.told()
	if err != nil {
		return nil, err
	}
	return c.h.Backend.Events(c.r.Context(), q)
}

func (c *call) tokens() (any, error) {
	all, err := c.h.Backend.Tokens(c.r.Context())
	return document.TokenPage{Format: document.TokenPageFormat, Tokens: append([]document.Token{}, all...)}, err
}

func (c *call) createToken() (any, error) {
	r := *c.in.(*document.TokenRequest)
	if err := fleet.CheckLabels(r.Labels); err != nil {
		return nil, &Refusal{http.StatusBadRequest, err.Error(), "Write labels as KEY=VALUE"}
	}
	if r.Uses < 0 || r.Expires < 0 {
		return nil, &Refusal{http.StatusBadRequest, "cannot create a token with a negative number of uses, or a token that has already expired", "Omit them, or use larger values"}
	}
	t, err := c.h.Backend.CreateToken(c.r.Context(), c.who, r)
	t.Format = document.NewTokenFormat
	return t, err
}

func (c *call) revokeToken() (any, error) {
	return done("Token %s is revoked.", c.path["token"])(c.h.Backend.RevokeToken(c.r.Context(), c.who, c.path["token"]))
}

// mostRecords limits a page of the audit log.
const mostRecords = 1000

func (c *call) auditLog() (any, error) {
	offset, limit, err := c.page()
	if err != nil {
		return nil, err
	}
	if c.one("offset") == "" {
		offset = -1
	}
	if limit == 0 || limit > mostRecords {
		limit = mostRecords
	}
	return c.h.Backend.AuditLog(c.r.Context(), int64(offset), limit)
}

func (c *call) hubs() (any, error) { return c.h.Backend.Hubs(c.r.Context()) }

func (c *call) retireHub() (any, error) {
	r := *c.in.(*document.HubRetirement)
	text := "%s is retired. It stops when the other hubs have all of its data, and then its certificate is revoked."
	if r.Lost {
		text = "%s is retired, and its certificate is revoked."
	}
	return done(text, c.path["hub"])(c.h.Backend.RetireHub(c.r.Context(), c.who, c.path["hub"], r))
}

func (c *call) users() (any, error) {
	all, err := c.h.Backend.Users(c.r.Context())
	return document.UserPage{Format: document.UserPageFormat, Users: append([]document.User{}, all...)}, err
}

func (c *call) setUser() (any, error) {
	r := *c.in.(*document.UserRequest)
	return done("%s", userText(r))(c.h.Backend.SetUser(c.r.Context(), c.who, r))
}

// userText describes a user after a change.
func userText(r document.UserRequest) string {
	switch {
	case r.Locked:
		return "The user " + r.Name + " is locked out."
	case len(r.Roles) == 0:
		return "The user " + r.Name + " has no role."
	case len(r.Roles) == 1:
		return "The user " + r.Name + " has the role " + r.Roles[0] + "."
	}
	return "The user " + r.Name + " has the roles " + strings.Join(r.Roles, ", ") + "."
}

func (c *call) createLogin() (any, error) {
	l, err := c.h.Backend.CreateLogin(c.r.Context(), c.who, c.path["user"], *c.in.(*document.LoginRequest))
	l.Format = document.NewLoginFormat
	return l, err
}

func (c *call) logins() (any, error) {
	all, err := c.h.Backend.Logins(c.r.Context(), c.path["user"])
	return document.LoginPage{Format: document.LoginPageFormat, Name: c.path["user"], Logins: append([]document.Login{}, all...)}, err
}

func (c *call) revokeLogin() (any, error) {
	return done("The login token %s of %s is revoked.", c.path["login"], c.path["user"])(c.h.Backend.RevokeLogin(c.r.Context(), c.who, c.path["user"], c.path["login"]))
}

// done returns the answer of a successful operation, or its error.
func done(format string, args ...any) func(error) (any, error) {
	return func(err error) (any, error) {
		return document.Done{Format: document.DoneFormat, Text: fmt.Sprintf(format, args...)}, err
	}
}
