package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// TargetQuery selects targets, with the parameters of the API.
type TargetQuery struct {
	Select        []string
	All           bool
	Sort          string
	Offset, Limit int
}

// EventQuery selects events, with the parameters of the API.
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

// WhoAmI returns the user of this client.
func (c *Client) WhoAmI(ctx context.Context) (document.CurrentUser, error) {
	return call[document.CurrentUser](ctx, c, http.MethodGet, "/v1/whoami", nil, nil)
}

// Status returns a summary of the fleet.
func (c *Client) Status(ctx context.Context) (document.Status, error) {
	return call[document.Status](ctx, c, http.MethodGet, "/v1/status", nil, nil)
}

// Health returns the health of the hub.
func (c *Client) Health(ctx context.Context) (document.Health, error) {
	return call[document.Health](ctx, c, http.MethodGet, "/v1/health", nil, nil)
}

// Exports returns the exported values of all targets.
func (c *Client) Exports(ctx context.Context) (document.Exports, error) {
	return call[document.Exports](ctx, c, http.MethodGet, "/v1/exports", nil, nil)
}

// Repositories returns the repositories that the hub follows.
func (c *Client) Repositories(ctx context.Context) (document.RepositoryPage, error) {
	return call[document.RepositoryPage](ctx, c, http.MethodGet, "/v1/repositories", nil, nil)
}

// Targets returns a page of targets.
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
	return call[document.TargetPage](ctx, c, http.MethodGet, "/v1/targets", q, nil)
}

func targetPath(name, verb string) string {
	if verb != "" {
		verb = "/" + verb
	}
	return "/v1/targets/" + url.PathEscape(name) + verb
}

// Target returns one target, by ID or name.
func (c *Client) Target(ctx context.Context, name string) (document.TargetDetail, error) {
	return call[document.TargetDetail](ctx, c, http.MethodGet, targetPath(name, ""), nil, nil)
}

// Approve approves a pending target.
func (c *Client) Approve(ctx context.Context, name string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "approve"), nil, document.ReasonRequest{})
}

// Label sets and removes labels.
func (c *Client) Label(ctx context.Context, name string, r document.LabelRequest) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "label"), nil, r)
}

// Retire removes a target from the fleet.
func (c *Client) Retire(ctx context.Context, name, reason string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "retire"), nil, document.ReasonRequest{Reason: reason})
}

// Revoke revokes the certificate of a target.
func (c *Client) Revoke(ctx context.Context, name, reason string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "revoke"), nil, document.ReasonRequest{Reason: reason})
}

// Pin pins a target to a revision.
func (c *Client) Pin(ctx context.Context, name string, r document.PinRequest) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "pin"), nil, r)
}

// Unpin removes a pin; module "" means the pin of the whole target.
func (c *Client) Unpin(ctx context.Context, name, module string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "unpin"), nil, document.UnpinRequest{Module: module})
}

// Freeze freezes a target: nothing changes on it until Unfreeze.
func (c *Client) Freeze(ctx context.Context, name string, r document.FreezeRequest) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "freeze"), nil, r)
}

// FreezeAll freezes all targets, including targets that join later.
func (c *Client) FreezeAll(ctx context.Context, r document.FreezeRequest) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/freeze", nil, r)
}

// UnfreezeAll undoes FreezeAll. Freezes of single targets remain.
func (c *Client) UnfreezeAll(ctx context.Context) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/unfreeze", nil, document.ReasonRequest{})
}

// Suspect marks a target as unreliable.
func (c *Client) Suspect(ctx context.Context, name, reason string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "suspect"), nil, document.ReasonRequest{Reason: reason})
}

// Trust removes the mark of Suspect.
func (c *Client) Trust(ctx context.Context, name, reason string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "trust"), nil, document.ReasonRequest{Reason: reason})
}

// Requests returns the pending requests of agents.
func (c *Client) Requests(ctx context.Context) (document.RequestPage, error) {
	return call[document.RequestPage](ctx, c, http.MethodGet, "/v1/requests", nil, nil)
}

// Certificates returns the certificates of services.
func (c *Client) Certificates(ctx context.Context) (document.CertificatePage, error) {
	return call[document.CertificatePage](ctx, c, http.MethodGet, "/v1/certificates", nil, nil)
}

// RevokeCertificates revokes certificates of services.
func (c *Client) RevokeCertificates(ctx context.Context, r document.CertificateRevocation) (document.Job, error) {
	return call[document.Job](ctx, c, http.MethodPost, "/v1/certificates/revoke", nil, r)
}

// RequestPolicy returns the policy for requests of agents.
func (c *Client) RequestPolicy(ctx context.Context) (document.RequestPolicy, error) {
	return call[document.RequestPolicy](ctx, c, http.MethodGet, "/v1/requests/policy", nil, nil)
}

// SetRequestPolicy changes one answer or one rule of the policy, at all hubs.
func (c *Client) SetRequestPolicy(ctx context.Context, r document.RequestPolicyChange) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/requests/policy", nil, r)
}

// DecideRequest approves or rejects a request of a target.
func (c *Client) DecideRequest(ctx context.Context, name, what string, refuse bool, r document.RequestDecision) (document.Done, error) {
	how := "approve"
	if refuse {
		how = "reject"
	}
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "requests/"+url.PathEscape(what)+"/"+how), nil, r)
}

// Unfreeze undoes Freeze.
func (c *Client) Unfreeze(ctx context.Context, name string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, targetPath(name, "unfreeze"), nil, document.ReasonRequest{})
}

// Explain returns the reasons for the state of a module on a target.
func (c *Client) Explain(ctx context.Context, target, module string) (document.Explanation, error) {
	return call[document.Explanation](ctx, c, http.MethodGet, targetPath(target, "")+"/modules/"+url.PathEscape(module), nil, nil)
}

// Modules returns all assigned modules.
func (c *Client) Modules(ctx context.Context) (document.ModulePage, error) {
	return call[document.ModulePage](ctx, c, http.MethodGet, "/v1/modules", nil, nil)
}

// Module returns one module with its targets, at most limit if limit is not 0.
func (c *Client) Module(ctx context.Context, name string, limit int) (document.ModuleDetail, error) {
	q := url.Values{}
	number(q, "limit", limit)
	return call[document.ModuleDetail](ctx, c, http.MethodGet, "/v1/modules/"+url.PathEscape(name), q, nil)
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

// Events returns a page of events.
func (c *Client) Events(ctx context.Context, e EventQuery) (document.EventPage, error) {
	return call[document.EventPage](ctx, c, http.MethodGet, "/v1/events", e.values(), nil)
}

// Users returns the users of the hubs.
func (c *Client) Users(ctx context.Context) (document.UserPage, error) {
	return call[document.UserPage](ctx, c, http.MethodGet, "/v1/users", nil, nil)
}

// SetUser creates a user, or changes the roles of a user.
func (c *Client) SetUser(ctx context.Context, r document.UserRequest) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/users", nil, r)
}

// CreateLogin creates a bearer token for a user. Only the answer contains the token.
func (c *Client) CreateLogin(ctx context.Context, name string, r document.LoginRequest) (document.NewLogin, error) {
	return call[document.NewLogin](ctx, c, http.MethodPost, "/v1/users/"+url.PathEscape(name)+"/login", nil, r)
}

// Logins returns the bearer tokens of a user, without their secrets.
func (c *Client) Logins(ctx context.Context, name string) (document.LoginPage, error) {
	return call[document.LoginPage](ctx, c, http.MethodGet, "/v1/users/"+url.PathEscape(name)+"/logins", nil, nil)
}

// RevokeLogin revokes a bearer token at all hubs.
func (c *Client) RevokeLogin(ctx context.Context, name, id, reason string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/users/"+url.PathEscape(name)+"/logins/"+url.PathEscape(id)+"/revoke", nil, document.ReasonRequest{Reason: reason})
}

// CreateToken creates a token for enrolments. Only the answer contains its secret.
func (c *Client) CreateToken(ctx context.Context, r document.TokenRequest) (document.NewToken, error) {
	return call[document.NewToken](ctx, c, http.MethodPost, "/v1/tokens", nil, r)
}

// Tokens returns the stored tokens, without their secrets.
func (c *Client) Tokens(ctx context.Context) (document.TokenPage, error) {
	return call[document.TokenPage](ctx, c, http.MethodGet, "/v1/tokens", nil, nil)
}

// Audit returns a part of the audit log of the connected hub, from the byte offset of a record. A
// negative offset returns the last records. limit 0 means a full page.
func (c *Client) Audit(ctx context.Context, offset int64, limit int) (document.AuditPage, error) {
	q := url.Values{}
	if offset >= 0 {
		q.Set("offset", strconv.FormatInt(offset, 10))
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return call[document.AuditPage](ctx, c, http.MethodGet, "/v1/audit", q, nil)
}

// Hubs returns the hubs of the fleet.
func (c *Client) Hubs(ctx context.Context) (document.HubPage, error) {
	return call[document.HubPage](ctx, c, http.MethodGet, "/v1/hubs", nil, nil)
}

// RetireHub removes a hub from the fleet.
func (c *Client) RetireHub(ctx context.Context, name string, r document.HubRetirement) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/hubs/"+url.PathEscape(name)+"/retire", nil, r)
}

// RevokeToken revokes a token, so that no host can use it to join.
func (c *Client) RevokeToken(ctx context.Context, id string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/tokens/"+url.PathEscape(id)+"/revoke", nil, document.ReasonRequest{})
}

// CreateJob creates a job.
func (c *Client) CreateJob(ctx context.Context, r document.JobRequest) (document.Job, error) {
	return call[document.Job](ctx, c, http.MethodPost, "/v1/jobs", nil, r)
}

// CancelJob cancels a job for agents that have not started it.
func (c *Client) CancelJob(ctx context.Context, id string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/jobs/"+url.PathEscape(id)+"/cancel", nil, document.ReasonRequest{})
}

// Job returns one job and its acknowledgements.
func (c *Client) Job(ctx context.Context, id string) (document.Job, error) {
	return call[document.Job](ctx, c, http.MethodGet, "/v1/jobs/"+url.PathEscape(id), nil, nil)
}

// Jobs returns a page of the stored jobs, the newest first, at most limit if limit is not 0.
func (c *Client) Jobs(ctx context.Context, offset, limit int) (document.JobPage, error) {
	q := url.Values{}
	number(q, "offset", offset)
	number(q, "limit", limit)
	return call[document.JobPage](ctx, c, http.MethodGet, "/v1/jobs", q, nil)
}
