package api

import (
	"context"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Alarms are the alarms about assignments.
type Alarms interface {
	Alarms(ctx context.Context) ([]document.Alarm, error)
	// ApproveAlarm approves the change that the alarm with this digest blocks.
	ApproveAlarm(ctx context.Context, by access.Principal, digest string) error
}

// HandleAlarms registers the handlers of alarms.
func HandleAlarms(t *Table, b Alarms) {
	handleGet(t, route.Alarms(), func(ctx context.Context) (document.AlarmPage, error) {
		all, err := b.Alarms(ctx)
		return document.AlarmPage{Format: document.AlarmPageFormat, Alarms: append([]document.Alarm{}, all...)}, err
	})
	handlePost(t, route.ApproveAlarm(),
		func(ctx context.Context, c Caller, r document.ApprovalRequest) (document.Done, error) {
			return done(b.ApproveAlarm(ctx, c.Principal, r.Digest), "The change is approved for a day.")
		})
}

// Notifications are the rules of notification.
type Notifications interface {
	Notifications(ctx context.Context) ([]document.NotificationState, error)
	SetNotification(ctx context.Context, by access.Principal, r document.Notification) error
	RemoveNotification(ctx context.Context, by access.Principal, name string) error
}

// Notices are the notices that the rules cause.
type Notices interface {
	// TestNotification sends an example at once.
	TestNotification(ctx context.Context, by access.Principal, name string) error
	// DecideNotice approves or discards a notice that waits for a decision.
	DecideNotice(ctx context.Context, by access.Principal, id string, reject bool) error
}

// HandleNotifications registers the handlers of the rules of notification.
func HandleNotifications(t *Table, b Notifications) {
	handleGet(t, route.Notifications(), func(ctx context.Context) (document.NotificationPage, error) {
		all, err := b.Notifications(ctx)
		return document.NotificationPage{Format: document.NotificationPageFormat,
			Notifications: append([]document.NotificationState{}, all...)}, err
	})
	handlePost(t, route.SetNotification(),
		func(ctx context.Context, c Caller, r document.Notification) (document.Done, error) {
			return done(b.SetNotification(ctx, c.Principal, r), "Saved the rule %s.", r.Name)
		})
	Handle(t, route.RemoveNotification(),
		func(ctx context.Context, c Caller, at route.RuleName, _ document.ReasonRequest) (document.Done, error) {
			return done(b.RemoveNotification(ctx, c.Principal, at.Rule), "Deleted the rule %s.", at.Rule)
		})
}

// HandleNotices registers the handlers of notices.
func HandleNotices(t *Table, b Notices) {
	Handle(t, route.TestNotification(),
		func(ctx context.Context, c Caller, at route.RuleName, _ document.ReasonRequest) (document.Done, error) {
			return done(b.TestNotification(ctx, c.Principal, at.Rule),
				"A test notice was sent through the rule %s, and was accepted.", at.Rule)
		})
	Handle(t, route.ApproveNotice(),
		func(ctx context.Context, c Caller, at route.NoticeID, _ document.ReasonRequest) (document.Done, error) {
			return done(b.DecideNotice(ctx, c.Principal, at.Notice, false), "The notice %s is approved.", at.Notice)
		})
	Handle(t, route.RejectNotice(),
		func(ctx context.Context, c Caller, at route.NoticeID, _ document.ReasonRequest) (document.Done, error) {
			return done(b.DecideNotice(ctx, c.Principal, at.Notice, true), "The notice %s is rejected.", at.Notice)
		})
}
