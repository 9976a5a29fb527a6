package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// TargetQuery chooses targets, as the API has it.
type TargetQuery struct {
	Select        []string
	All           bool
	Sort          string
	Offset, Limit int
}

// EventQuery chooses events, as the API has it.
type EventQuery struct {
	Target, Module string
	Kinds          []string
	Since, Until   time.Time
	After          string
	Limit          int
}

func number(q url.Values, name string, n int) {
	if n > 0 {
		q.Set(name, strconv.Itoa(n))
	}
}

func text(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// WhoAmI says as whom the hub sees this client.
func (c *Client) WhoAmI(ctx context.Context) (document.Person, error) {
	return ask[document.Person](ctx, c, http.MethodGet, "/v1/whoami", nil, nil)
}

// Status is the fleet in numbers.
func (c *Client) Status(ctx context.Context) (document.Status, error) {
	return ask[document.Status](ctx, c, http.MethodGet, "/v1/status", nil, nil)
}

// Health is how the hub is.
func (c *Client) Health(ctx context.Context) (document.Health, error) {
	return ask[document.Health](ctx, c, http.MethodGet, "/v1/health", nil, nil)
}

// Exports are the values that targets export.
func (c *Client) Exports(ctx context.Context) (document.Exports, error) {
	return ask[document.Exports](ctx, c, http.MethodGet, "/v1/exports", nil, nil)
}

// Repositories are those that the hub follows.
func (c *Client) Repositories(ctx context.Context) (document.RepositoryPage, error) {
	return ask[document.RepositoryPage](ctx, c, http.MethodGet, "/v1/repositories", nil, nil)
}

// Targets is a page of them.
func (c *Client) Targets(ctx context.Context, t TargetQuery) (document.TargetPage, error) {
	q := url.Values{}
	if len(t.Select) > 0 {
		q["select"] = t.Select
	}
	if t.All {
		q.Set("all", "true")
	}
	text(q, "sort", t.Sort)
	number(q, "offset", t.Offset)
	number(q, "limit", t.Limit)
	return ask[document.TargetPage](ctx, c, http.MethodGet, "/v1/targets", q, nil)
}

func targetPath(name, verb string) string {
	if verb != "" {
		verb = "/" + verb
	}
	return "/v1/targets/" + url.PathEscape(name) + verb
}

// Target is one of them, by identity or name.
func (c *Client) Target(ctx context.Context, name string) (document.TargetDetail, error) {
	return ask[document.TargetDetail](ctx, c, http.MethodGet, targetPath(name, ""), nil, nil)
}

// Approve lets a target in.
func (c *Client) Approve(ctx context.Context, name string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "approve"), nil, document.ReasonRequest{})
}

// Label sets and removes labels.
func (c *Client) Label(ctx context.Context, name string, r document.LabelRequest) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "label"), nil, r)
}

// Retire takes a target out of the fleet.
func (c *Client) Retire(ctx context.Context, name, reason string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "retire"), nil, document.ReasonRequest{Reason: reason})
}

// Revoke ends that a target is believed.
func (c *Client) Revoke(ctx context.Context, name, reason string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "revoke"), nil, document.ReasonRequest{Reason: reason})
}

// Pin keeps a target on a revision.
func (c *Client) Pin(ctx context.Context, name string, r document.PinRequest) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "pin"), nil, r)
}

// Unpin ends that; module "" is the pin of all of the target.
func (c *Client) Unpin(ctx context.Context, name, module string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "unpin"), nil, document.UnpinRequest{Module: module})
}

// Freeze keeps a target from changing.
func (c *Client) Freeze(ctx context.Context, name string, r document.FreezeRequest) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "freeze"), nil, r)
}

// FreezeAll keeps all targets from changing, also those that join later.
func (c *Client) FreezeAll(ctx context.Context, r document.FreezeRequest) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/freeze", nil, r)
}

// UnfreezeAll ends that; freezes of single targets remain.
func (c *Client) UnfreezeAll(ctx context.Context) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/unfreeze", nil, document.ReasonRequest{})
}

// Suspect marks a target as one that is not to be relied on.
func (c *Client) Suspect(ctx context.Context, name, reason string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "suspect"), nil, document.ReasonRequest{Reason: reason})
}

// Trust ends that.
func (c *Client) Trust(ctx context.Context, name, reason string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "trust"), nil, document.ReasonRequest{Reason: reason})
}

// Asks are what agents asked for and nobody has decided.
func (c *Client) Asks(ctx context.Context) (document.AskPage, error) {
	return ask[document.AskPage](ctx, c, http.MethodGet, "/v1/asks", nil, nil)
}

// Certificates are those of services.
func (c *Client) Certificates(ctx context.Context) (document.CertificatePage, error) {
	return ask[document.CertificatePage](ctx, c, http.MethodGet, "/v1/certificates", nil, nil)
}

// ForbidCertificates has nobody believe some any more.
func (c *Client) ForbidCertificates(ctx context.Context, r document.CertificateForbidding) (document.Request, error) {
	return ask[document.Request](ctx, c, http.MethodPost, "/v1/certificates/forbid", nil, r)
}

// AskPolicy is what becomes of what agents ask for.
func (c *Client) AskPolicy(ctx context.Context) (document.AskPolicy, error) {
	return ask[document.AskPolicy](ctx, c, http.MethodGet, "/v1/asks/policy", nil, nil)
}

// SetAskPolicy changes one answer, or one rule, at all hubs.
func (c *Client) SetAskPolicy(ctx context.Context, r document.AskPolicyRequest) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/asks/policy", nil, r)
}

// DecideAsk does what a target asked for, or refuses it.
func (c *Client) DecideAsk(ctx context.Context, name, what string, refuse bool, r document.AskDecision) (document.Done, error) {
	how := "approve"
	if refuse {
		how = "refuse"
	}
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "asks/"+url.PathEscape(what)+"/"+how), nil, r)
}

// Unfreeze ends that.
func (c *Client) Unfreeze(ctx context.Context, name string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, targetPath(name, "unfreeze"), nil, document.ReasonRequest{})
}

// Explain is why a module on a target is as it is.
func (c *Client) Explain(ctx context.Context, target, module string) (document.Explanation, error) {
	return ask[document.Explanation](ctx, c, http.MethodGet, targetPath(target, "")+"/modules/"+url.PathEscape(module), nil, nil)
}

// Modules are all that are assigned.
func (c *Client) Modules(ctx context.Context) (document.ModulePage, error) {
	return ask[document.ModulePage](ctx, c, http.MethodGet, "/v1/modules", nil, nil)
}

// Module is one of them with its targets, at most limit where that is not 0.
func (c *Client) Module(ctx context.Context, name string, limit int) (document.ModuleDetail, error) {
	q := url.Values{}
	number(q, "limit", limit)
	return ask[document.ModuleDetail](ctx, c, http.MethodGet, "/v1/modules/"+url.PathEscape(name), q, nil)
}

func (e EventQuery) values() url.Values {
	q := url.Values{}
	text(q, "target", e.Target)
	text(q, "module", e.Module)
	text(q, "after", e.After)
	if len(e.Kinds) > 0 {
		q["kind"] = e.Kinds
	}
	if !e.Since.IsZero() {
		q.Set("since", e.Since.UTC().Format(time.RFC3339))
	}
	if !e.Until.IsZero() {
		q.Set("until", e.Until.UTC().Format(time.RFC3339))
	}
	number(q, "limit", e.Limit)
	return q
}

// Events is a page of them.
func (c *Client) Events(ctx context.Context, e EventQuery) (document.EventPage, error) {
	return ask[document.EventPage](ctx, c, http.MethodGet, "/v1/events", e.values(), nil)
}

// People are those whom the hub knows.
func (c *Client) People(ctx context.Context) (document.People, error) {
	return ask[document.People](ctx, c, http.MethodGet, "/v1/people", nil, nil)
}

// SetPerson makes somebody known, or changes what they may do.
func (c *Client) SetPerson(ctx context.Context, r document.PersonRequest) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/people", nil, r)
}

// CreateLogin makes a token for somebody; it is in the answer and nowhere else.
func (c *Client) CreateLogin(ctx context.Context, name string, r document.LoginRequest) (document.NewLogin, error) {
	return ask[document.NewLogin](ctx, c, http.MethodPost, "/v1/people/"+url.PathEscape(name)+"/login", nil, r)
}

// Logins are the tokens of somebody.
func (c *Client) Logins(ctx context.Context, name string) (document.LoginPage, error) {
	return ask[document.LoginPage](ctx, c, http.MethodGet, "/v1/people/"+url.PathEscape(name)+"/logins", nil, nil)
}

// WithdrawLogin ends one of them, at all hubs.
func (c *Client) WithdrawLogin(ctx context.Context, name, id, reason string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/people/"+url.PathEscape(name)+"/logins/"+url.PathEscape(id)+"/withdraw", nil, document.ReasonRequest{Reason: reason})
}

// CreateToken makes one; its secret is in the answer and nowhere else.
func (c *Client) CreateToken(ctx context.Context, r document.TokenRequest) (document.NewToken, error) {
	return ask[document.NewToken](ctx, c, http.MethodPost, "/v1/tokens", nil, r)
}

// Tokens are those that are kept.
func (c *Client) Tokens(ctx context.Context) (document.TokenPage, error) {
	return ask[document.TokenPage](ctx, c, http.MethodGet, "/v1/tokens", nil, nil)
}

// Audit is a part of the audit log of the hub that answers, from a byte on where a record
// begins; below 0 it is the last records. limit 0 is as many as one page has.
func (c *Client) Audit(ctx context.Context, offset int64, limit int) (document.AuditPage, error) {
	q := url.Values{}
	if offset >= 0 {
		q.Set("offset", strconv.FormatInt(offset, 10))
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return ask[document.AuditPage](ctx, c, http.MethodGet, "/v1/audit", q, nil)
}

// Hubs are the hubs of the fleet.
func (c *Client) Hubs(ctx context.Context) (document.HubPage, error) {
	return ask[document.HubPage](ctx, c, http.MethodGet, "/v1/hubs", nil, nil)
}

// RetireHub takes a hub out of the fleet.
func (c *Client) RetireHub(ctx context.Context, name string, r document.HubRetirement) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/hubs/"+url.PathEscape(name)+"/retire", nil, r)
}

// RevokeToken ends that one lets anybody in.
func (c *Client) RevokeToken(ctx context.Context, id string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/tokens/"+url.PathEscape(id)+"/revoke", nil, document.ReasonRequest{})
}

// Do asks agents for something.
func (c *Client) Do(ctx context.Context, r document.DoRequest) (document.Request, error) {
	return ask[document.Request](ctx, c, http.MethodPost, "/v1/requests", nil, r)
}

// WithdrawRequest takes one back from those who have not begun it.
func (c *Client) WithdrawRequest(ctx context.Context, id string) (document.Done, error) {
	return ask[document.Done](ctx, c, http.MethodPost, "/v1/requests/"+url.PathEscape(id)+"/withdraw", nil, document.ReasonRequest{})
}

// Request is one that was made, and who acknowledged it.
func (c *Client) Request(ctx context.Context, id string) (document.Request, error) {
	return ask[document.Request](ctx, c, http.MethodGet, "/v1/requests/"+url.PathEscape(id), nil, nil)
}

// Requests is a page of those that are kept, the newest first, at most limit where that is
// not 0.
func (c *Client) Requests(ctx context.Context, offset, limit int) (document.RequestPage, error) {
	q := url.Values{}
	number(q, "offset", offset)
	number(q, "limit", limit)
	return ask[document.RequestPage](ctx, c, http.MethodGet, "/v1/requests", q, nil)
}
