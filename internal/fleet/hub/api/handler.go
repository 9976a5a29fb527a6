package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/route"
)

// Limits of one request.
const (
	MaxBody = 24 << 10 // bytes; a request must fit into a record of the audit log
	// MaxQuestion is the limit for requests that change nothing, which are not recorded.
	MaxQuestion = 16 << 20
	Patience    = 30 * time.Second // limit for an answer, except for streams
)

// Handler answers requests. Table, Authenticate and Now must be set.
type Handler struct {
	Table        *Table
	Authenticate Authenticate
	Now          func() time.Time
	// Audit records changes. If it is nil, all changes are refused.
	Audit Audit
	// MayChange returns a Refusal while no change is possible. It must not block. nil means always.
	MayChange func() error
	// Missing returns an error with the names of the hubs that do not answer, or nil. It may be
	// nil.
	Missing func(ctx context.Context) error
	// Metrics serves /metrics; nil: there are none.
	Metrics http.Handler
	// NewID returns an ID for a request. If it is nil, requests have no ID.
	NewID func() string
	// Recheck is the time between two checks whether a user still has the right to an open stream;
	// 0 means the constant Recheck.
	Recheck time.Duration
}

// Server returns a server with time and size limits. The caller sets its address, certificates and
// log.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: Patience, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 32 << 10,
	}
}

// call is the state of one request.
type call struct {
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	route row
	path  map[string]string
	query map[string][]string
	who   access.Principal
	in    any
	id    string
	said  bool // the status line was sent
	// exists returns fleet.ErrNotFound if the target of a stream no longer exists for the user, with the present rights;
	// nil means that no target is checked.
	exists func(ctx context.Context, who access.Principal) error
	// of is the organization of the object, or nil before it was needed. unread is the error of the read model about it.
	of     *fleet.Organization
	unread error
	// audited means that the call is recorded although its route changes nothing.
	audited bool
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{h: h, w: w, r: r}
	if h.NewID != nil {
		c.id = h.NewID()
		w.Header().Set("X-Request-Id", c.id)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	answer, err := c.serve()
	switch {
	case c.said: // an error can no longer be sent
	case err != nil:
		c.problem(err)
	default:
		c.document(http.StatusOK, "application/json", answer)
	}
}

// serve finds the route, then authenticates the user, and then reads the rest of the request.
func (c *call) serve() (any, error) {
	allowed, err := c.match()
	if err == nil && c.route.Right == route.Open {
		return c.run()
	}
	who, aerr := c.h.Authenticate(c.r)
	switch {
	case errors.Is(aerr, fleet.ErrNoAnswer):
		return nil, aerr
	case aerr != nil || who.Name == "":
		return nil, fail(http.StatusUnauthorized, "The request is not authenticated", why(aerr), "Log in: fettle login URL")
	case err != nil:
		if len(allowed) > 0 {
			c.w.Header().Set("Allow", strings.Join(allowed, ", "))
		}
		return nil, err
	}
	c.who = who
	c.limit(c.route.Right)
	if who.Organization != "" && !c.route.Tenant {
		_ = c.audit(access.Denied, "")
		return nil, errTenant()
	}
	if err := c.need(c.route.Right); err != nil {
		return nil, err
	}
	return c.run()
}

// limit limits the request to the targets for which the user has a right.
func (c *call) limit(right access.Right) {
	c.r = c.r.WithContext(fleet.WithBoundary(c.r.Context(), c.who.Boundary(right)))
}

// need returns an error unless the user has a right: for all targets or, if the route is limited to the boundary of the
// user, for some of them. It records a change that is refused.
func (c *call) need(right access.Right) error {
	some := c.who.MayOnSome(right)
	switch {
	case c.who.May(right), some && c.route.PerTarget:
		return nil
	case some:
		_ = c.audit(access.Denied, "")
		return fail(http.StatusForbidden, "Not allowed",
			fmt.Sprintf("%s needs the right %q for all targets, and %s has it only for some", c.route.Name(), right, c.who.Name),
			"See your grants: fettle user show. Ask a user with the right admin for the role")
	case c.who.Unconfirmed:
		_ = c.audit(access.Denied, "")
		return c.unconfirmed(right)
	}
	_ = c.audit(access.Denied, "")
	return fail(http.StatusForbidden, "Not allowed",
		fmt.Sprintf("%s needs the right %q, which %s does not have", c.route.Name(), right, c.who.Name),
		"Ask a user with the right admin for it")
}

// unconfirmed returns the error for a user whose rights this hub cannot confirm, because the store
// does not answer.
func (c *call) unconfirmed(right access.Right) error {
	text := fmt.Sprintf("%s needs the right %q, and the hub cannot confirm now that %s has it", c.route.Name(),
		right, c.who.Name)
	if c.h.MayChange != nil {
		if err := c.h.MayChange(); err != nil {
			text += ". " + err.Error()
		}
	}
	return fail(http.StatusServiceUnavailable, "Your rights cannot be confirmed now", text,
		"See which hubs are missing: fettle hub list. Root on the host of the hub needs no such right")
}

// match finds the route, or the allowed methods of the path.
func (c *call) match() (allowed []string, err error) {
	parts, err := segments(c.r.URL)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "The path is wrong", err.Error(), "See the valid paths: GET /v1/openapi.json")
	}
	for _, r := range c.h.Table.rows {
		values, ok := r.Match(parts)
		if ok && r.Method == c.r.Method {
			c.route, c.path = r, values
			return nil, nil
		}
		if ok && !slices.Contains(allowed, r.Method) {
			allowed = append(allowed, r.Method)
		}
	}
	status, title := http.StatusNotFound, "There is nothing at this path"
	if len(allowed) > 0 {
		status, title = http.StatusMethodNotAllowed, "The path does not support this method"
	}
	return allowed, fail(status, title, fmt.Sprintf("cannot answer %s %s", c.r.Method, strings.Join(parts, "/")),
		"See the valid paths: GET /v1/openapi.json")
}

// run reads the request and calls the function of the route.
func (c *call) run() (any, error) {
	if err := c.read(); err != nil {
		return nil, err
	}
	if c.route.Stream {
		defer c.whileAllowed()()
	}
	if !c.route.Stream && !c.route.Upgrade {
		ctx, done := context.WithTimeout(c.r.Context(), Patience)
		defer done()
		c.r = c.r.WithContext(ctx)
	}
	if !c.route.Changes() {
		return c.route.call(c)
	}
	if err := c.audit(access.Begun, c.asked()); err != nil {
		return nil, fail(http.StatusServiceUnavailable, "The audit log cannot be written, so nothing was changed",
			fmt.Sprintf("cannot write the audit log: %v", err), "See the cause: fettle status --fleet")
	}
	answer, err := c.unlessUnread(c.change)
	outcome := access.Done
	if err != nil {
		outcome = err.Error()
	}
	_ = c.audit(outcome, "") // the record of the request exists already
	return answer, err
}

// change calls the function of a changing route, if a change is possible now.
func (c *call) change() (any, error) {
	if c.h.MayChange == nil || c.route.Upgrade {
		return c.route.call(c)
	}
	if err := c.h.MayChange(); err != nil {
		return nil, err
	}
	answer, err := c.route.call(c)
	switch {
	case errors.Is(err, fleet.ErrNoAnswer):
		text := err.Error()
		if missing := c.missing(); missing != nil {
			text += ". The hub has checked: " + missing.Error()
		}
		return nil, fail(http.StatusGatewayTimeout, "The result is unknown", text,
			"Check the current state, and the hubs: fettle hub list. Then try again")
	case errors.Is(err, fleet.ErrConflict):
		// The other change may be an earlier attempt of the same user, which is not finished.
		if missing := c.missing(); missing != nil {
			return nil, fail(http.StatusConflict, "An earlier change is not finished",
				"cannot write while an earlier change of the same object waits for the other hubs. "+missing.Error(),
				"See which hubs are missing: fettle hub list. Then check the object, and try again")
		}
	}
	return answer, err
}

// missing returns an error with the names of the hubs that are missing now, or nil.
func (c *call) missing() error {
	if err := c.h.MayChange(); err != nil || c.h.Missing == nil {
		return err
	}
	return c.h.Missing(c.r.Context())
}

// read parses the query and the body. It refuses unknown parameters and fields.
func (c *call) read() error {
	c.query = c.r.URL.Query()
	for name, values := range c.query {
		i := slices.IndexFunc(c.route.Query, func(p route.Parameter) bool { return p.Name == name })
		if i < 0 || len(values) > 1 && !c.route.Query[i].Many {
			return fail(http.StatusBadRequest, "The query is wrong",
				fmt.Sprintf("the parameter %q is unknown, or is repeated too often", name), "List them: GET /v1/openapi.json")
		}
	}
	limit := int64(MaxBody)
	if c.route.ReadOnly {
		limit = MaxQuestion
	}
	body := http.MaxBytesReader(c.w, c.r.Body, limit)
	if c.route.In == nil {
		if n, _ := io.CopyN(io.Discard, body, 1); n > 0 {
			return fail(http.StatusBadRequest, "The request has a body", c.route.Name()+" accepts no body", "Omit the body")
		}
		return nil
	}
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fail(http.StatusUnsupportedMediaType, "The body is not JSON", "its Content-Type is not application/json",
			"Send Content-Type: application/json")
	}
	text, err := io.ReadAll(body)
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return fail(http.StatusRequestEntityTooLarge, "The body is too long", fmt.Sprintf("the limit is %d bytes", limit),
			"Send a smaller request")
	}
	c.in = c.route.NewIn()
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err = d.Decode(c.in); err == nil && d.More() {
			err = errors.New("there is more data after the document")
		}
	}
	if err != nil {
		return fail(http.StatusBadRequest, "The body is wrong", fmt.Sprintf("cannot read it: %v", err),
			"See the required fields: GET /v1/openapi.json")
	}
	return nil
}

// audit records a call, if it changes something or is audited.
func (c *call) audit(outcome, reason string) error {
	switch {
	case !c.route.Changes() && !c.audited:
		return nil
	case c.h.Audit == nil:
		return errors.New("this hub has no audit log")
	}
	return c.h.Audit(context.WithoutCancel(c.r.Context()), access.Entry{
		User: c.who.Name, Credential: c.who.Credential, Operation: c.route.Name(),
		Object: c.object(), Outcome: outcome, Reason: reason, From: c.r.RemoteAddr, Request: c.id,
		Organization: c.who.Organization, Of: c.organization(),
	})
}

// organization returns the organization of the object of a change when the request began: the organization in the path,
// or that of the target in the path, if it exists for the user. Otherwise it is "".
func (c *call) organization() fleet.Organization {
	if c.of != nil {
		return *c.of
	}
	of := fleet.Organization(c.path["organization"])
	if name := c.path["target"]; name != "" && c.h.Table.targets != nil {
		ctx := fleet.WithOrganization(context.WithoutCancel(c.r.Context()), c.who.Organization)
		d, err := c.h.Table.targets.Target(ctx, name, c.h.Now())
		of = d.Target.Organization
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			c.unread = err
		}
	}
	if of.Check() != nil || !c.who.Organization.Contains(of) {
		of = ""
	}
	c.of = &of
	return of
}

// unlessUnread calls a function after the beginning of the call was recorded. If the record lacks the organization of
// the object, because the read model failed, it returns that error instead.
func (c *call) unlessUnread(f func() (any, error)) (any, error) {
	if c.unread != nil {
		return nil, c.unread
	}
	return f()
}

// object returns the object of a change: the login, or the first value in the path, or "".
func (c *call) object() string {
	if len(c.route.InPath) == 0 {
		return ""
	}
	if c.path["scope"] != "" {
		return path.Join(c.path["kind"], c.path["scope"], c.path["task"])
	}
	return cmp.Or(c.path["login"], c.path[c.route.InPath[0]])
}

// asked returns the request as JSON. A request contains no secrets.
func (c *call) asked() string {
	b, err := json.Marshal(c.in)
	if err != nil || string(b) == "{}" {
		return ""
	}
	return string(b)
}

func (c *call) document(status int, kind string, doc any) {
	text, err := json.Marshal(doc)
	if err != nil {
		status, kind, text = http.StatusInternalServerError, "application/problem+json",
			[]byte(`{"title":"The answer cannot be written","status":500,"request":""}`)
	}
	c.w.Header().Set("Content-Type", kind)
	c.w.WriteHeader(status)
	_, _ = c.w.Write(append(text, '\n')) // if it fails, the client is gone
}

// problem sends an error as a document.
func (c *call) problem(err error) {
	p := problemOf(err)
	p.Request = c.id
	if p.Status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	c.document(p.Status, "application/problem+json", p)
}
