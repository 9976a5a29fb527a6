package api

import "fettle.dev/fettle/internal/fleet/document"

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
