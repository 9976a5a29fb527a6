package api

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// notifyRoutes are those of alarms and notifications.
func notifyRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/alarms", Right: access.Read, Does: "What is wrong now with what targets are to be", Out: document.AlarmPage{}, call: (*call).alarms},
		{Method: "POST", Path: "/v1/alarms/approve", Right: access.Approve, Does: "Let happen what an alarm keeps from happening", In: document.ApprovalRequest{}, Out: document.Done{}, call: (*call).approveAlarm},
		{Method: "GET", Path: "/v1/notifications", Right: access.Read, Does: "Who is notified of what, and what was not sent yet", Out: document.NotificationPage{}, call: (*call).notifications},
		{Method: "POST", Path: "/v1/notifications", Right: access.Admin, Does: "Make a rule of notification, or replace the one of its name", In: document.Notification{}, Out: document.Done{}, call: (*call).setNotification},
		{Method: "POST", Path: "/v1/notifications/{rule}/remove", Right: access.Admin, Does: "End a rule of notification", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).removeNotification},
		{Method: "POST", Path: "/v1/notifications/{rule}/test", Right: access.Operate, Does: "Send something by a rule at once", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).testNotification},
		{Method: "POST", Path: "/v1/notices/{notice}/approve", Right: access.Approve, Does: "Let a notice go that waits for it", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).approveNotice},
		{Method: "POST", Path: "/v1/notices/{notice}/deny", Right: access.Approve, Does: "Throw away a notice that waits", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).denyNotice},
	}
}

func (c *call) alarms() (any, error) {
	all, err := c.h.Backend.Alarms(c.r.Context())
	return document.AlarmPage{Format: document.AlarmPageFormat, Alarms: append([]document.Alarm{}, all...)}, err
}

func (c *call) approveAlarm() (any, error) {
	digest := c.in.(*document.ApprovalRequest).Digest
	return done("It is approved for a day.")(c.h.Backend.ApproveAlarm(c.r.Context(), c.who, digest))
}

func (c *call) notifications() (any, error) {
	all, err := c.h.Backend.Notifications(c.r.Context())
	return document.NotificationPage{Format: document.NotificationPageFormat, Notifications: append([]document.NotificationState{}, all...)}, err
}

func (c *call) setNotification() (any, error) {
	r := *c.in.(*document.Notification)
	return done("The rule %s is set.", r.Name)(c.h.Backend.SetNotification(c.r.Context(), c.who, r))
}

func (c *call) removeNotification() (any, error) {
	return done("The rule %s is gone.", c.path["rule"])(c.h.Backend.RemoveNotification(c.r.Context(), c.who, c.path["rule"]))
}

func (c *call) testNotification() (any, error) {
	return done("A test was sent by the rule %s, and taken.", c.path["rule"])(c.h.Backend.TestNotification(c.r.Context(), c.who, c.path["rule"]))
}

func (c *call) approveNotice() (any, error) {
	return done("The notice %s goes.", c.path["notice"])(c.h.Backend.DecideNotice(c.r.Context(), c.who, c.path["notice"], false))
}

func (c *call) denyNotice() (any, error) {
	return done("The notice %s is thrown away.", c.path["notice"])(c.h.Backend.DecideNotice(c.r.Context(), c.who, c.path["notice"], true))
}
