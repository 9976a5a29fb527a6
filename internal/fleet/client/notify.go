package client

import (
	"context"
	"net/http"
	"net/url"

	"fettle.dev/fettle/internal/fleet/document"
)

// Alarms returns the current alarms about assignments.
func (c *Client) Alarms(ctx context.Context) (document.AlarmPage, error) {
	return call[document.AlarmPage](ctx, c, http.MethodGet, "/v1/alarms", nil, nil)
}

// ApproveAlarm lets happen what an alarm keeps from happening.
func (c *Client) ApproveAlarm(ctx context.Context, digest string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/alarms/approve", nil, document.ApprovalRequest{Digest: digest})
}

// Notifications are the rules.
func (c *Client) Notifications(ctx context.Context) (document.NotificationPage, error) {
	return call[document.NotificationPage](ctx, c, http.MethodGet, "/v1/notifications", nil, nil)
}

// SetNotification makes a rule, or replaces it.
func (c *Client) SetNotification(ctx context.Context, r document.Notification) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/notifications", nil, r)
}

func (c *Client) onRule(ctx context.Context, name, verb string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/notifications/"+url.PathEscape(name)+"/"+verb, nil, document.ReasonRequest{})
}

// RemoveNotification ends a rule.
func (c *Client) RemoveNotification(ctx context.Context, name string) (document.Done, error) {
	return c.onRule(ctx, name, "remove")
}

// TestNotification sends something by a rule at once.
func (c *Client) TestNotification(ctx context.Context, name string) (document.Done, error) {
	return c.onRule(ctx, name, "test")
}

// DecideNotice lets a notice go that waits for it, or throws it away.
func (c *Client) DecideNotice(ctx context.Context, id string, deny bool) (document.Done, error) {
	verb := "approve"
	if deny {
		verb = "deny"
	}
	return call[document.Done](ctx, c, http.MethodPost, "/v1/notices/"+url.PathEscape(id)+"/"+verb, nil, document.ReasonRequest{})
}

// Check is how the hub is, looked at closely.
func (c *Client) Check(ctx context.Context) (document.HubCheck, error) {
	return call[document.HubCheck](ctx, c, http.MethodGet, "/v1/check", nil, nil)
}

// BackupSaved tells the hub that a backup is stored.
func (c *Client) BackupSaved(ctx context.Context, d document.BackupSaved) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/backup/saved", nil, d)
}

// SaveState is what hubs share and nothing else knows, for a backup.
func (c *Client) SaveState(ctx context.Context) (document.HubState, error) {
	return call[document.HubState](ctx, c, http.MethodPost, "/v1/backup", nil, document.ReasonRequest{})
}
