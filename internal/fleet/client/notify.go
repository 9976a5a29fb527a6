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

// ApproveAlarm approves the assignment that an alarm blocks.
func (c *Client) ApproveAlarm(ctx context.Context, digest string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/alarms/approve", nil, document.ApprovalRequest{Digest: digest})
}

// Notifications returns the notification rules.
func (c *Client) Notifications(ctx context.Context) (document.NotificationPage, error) {
	return call[document.NotificationPage](ctx, c, http.MethodGet, "/v1/notifications", nil, nil)
}

// SetNotification creates or replaces a notification rule.
func (c *Client) SetNotification(ctx context.Context, r document.Notification) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/notifications", nil, r)
}

func (c *Client) onRule(ctx context.Context, name, verb string) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/notifications/"+url.PathEscape(name)+"/"+verb, nil, document.ReasonRequest{})
}

// RemoveNotification removes a notification rule.
func (c *Client) RemoveNotification(ctx context.Context, name string) (document.Done, error) {
	return c.onRule(ctx, name, "remove")
}

// TestNotification immediately sends a test message through a rule.
func (c *Client) TestNotification(ctx context.Context, name string) (document.Done, error) {
	return c.onRule(ctx, name, "test")
}

// DecideNotice sends a notice that waits for approval, or discards it.
func (c *Client) DecideNotice(ctx context.Context, id string, reject bool) (document.Done, error) {
	verb := "approve"
	if reject {
		verb = "reject"
	}
	return call[document.Done](ctx, c, http.MethodPost, "/v1/notices/"+url.PathEscape(id)+"/"+verb, nil, document.ReasonRequest{})
}

// Check returns the result of a detailed check of the hub.
func (c *Client) Check(ctx context.Context) (document.HubCheck, error) {
	return call[document.HubCheck](ctx, c, http.MethodGet, "/v1/check", nil, nil)
}

// BackupSaved tells the hub that a backup is stored.
func (c *Client) BackupSaved(ctx context.Context, d document.BackupSaved) (document.Done, error) {
	return call[document.Done](ctx, c, http.MethodPost, "/v1/backup/saved", nil, d)
}

// SaveState returns the shared state of the hubs, for a backup.
func (c *Client) SaveState(ctx context.Context) (document.HubState, error) {
	return call[document.HubState](ctx, c, http.MethodPost, "/v1/backup", nil, document.ReasonRequest{})
}
