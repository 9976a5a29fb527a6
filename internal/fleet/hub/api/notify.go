package api

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// notifyRoutes returns the routes of alarms and notifications.
func notifyRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/alarms", Right: access.Read, Does: "List the current alarms about assignments", Out: document.AlarmPage{}, call: (*call).alarms},
		{Method: "POST", Path: "/v1/alarms/approve", Right: access.Approve, Does: "Approve the change that an alarm blocks", In: document.ApprovalRequest{}, Out: document.Done{}, call: (*call).approveAlarm},
		{Method: "GET", Path: "/v1/notifications", Right: access.Read, Does: "List the rules of notification, and unsent notices", Out: document.NotificationPage{}, call: (*call).notifications},
		{Method: "POST", Path: "/v1/notifications", Right: access.Admin, Does: "Create or replace a rule of notification", In: document.Notification{}, Out: document.Done{}, call: (*call).setNotification},
		{Method: "POST", Path: "/v1/notifications/{rule}/remove", Right: access.Admin, Does: "Delete a rule of notification", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).removeNotification},
		{Method: "POST", Path: "/v1/notifications/{rule}/test", Right: access.Operate, Does: "Send a test notice through a rule", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).testNotification},
		{Method: "POST", Path: "/v1/notices/{notice}/approve", Right: access.Approve, Does: "Approve a notice that waits for approval", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).approveNotice},
		{Method: "POST", Path: "/v1/notices/{notice}/reject", Right: access.Approve, Does: "Reject a notice that waits for approval", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).rejectNotice},
	}
}

func (c *call) alarms() (any, error) {
	all, err := c.h.Backend.Alarms(c.r.Context())
	return document.AlarmPage{Format: document.AlarmPageFormat, Alarms: append([]document.Alarm{}, all...)}, err
}

func (c *call) approveAlarm() (any, error) {
	digest := c.in.(*document.ApprovalRequest).Digest
	return done("The change is approved for a day.")(c.h.Backend.ApproveAlarm(c.r.Context(), c.who, digest))
}

func (c *call) notifications() (any, error) {
	all, err := c.h.Backend.Notifications(c.r.Context())
	return document.NotificationPage{Format: document.NotificationPageFormat, Notifications: append([]document.NotificationState{}, all...)}, err
}

func (c *call) setNotification() (any, error) {
	r := *c.in.(*document.Notification)
	return done("Saved the rule %s.", r.Name)(c.h.Backend.SetNotification(c.r.Context(), c.who, r))
}

func (c *call) removeNotification() (any, error) {
	return done("Deleted the rule %s.", c.path["rule"])(c.h.Backend.RemoveNotification(c.r.Context(), c.who, c.path["rule"]))
}

func (c *call) testNotification() (any, error) {
	return done("A test notice was sent through the rule %s, and was accepted.", c.path["rule"])(c.h.Backend.TestNotification(c.r.Context(), c.who, c.path["rule"]))
}

func (c *call) approveNotice() (any, error) {
	return done("The notice %s is approved.", c.path["notice"])(c.h.Backend.DecideNotice(c.r.Context(), c.who, c.path["notice"], false))
}

func (c *call) rejectNotice() (any, error) {
	return done("The notice %s is rejected.", c.path["notice"])(c.h.Backend.DecideNotice(c.r.Context(), c.who, c.path["notice"], true))
}
