package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// RuleName names a rule of notification.
type RuleName struct {
	Rule string `path:"rule"`
}

// NoticeID names a notice that waits for approval.
type NoticeID struct {
	Notice string `path:"notice"`
}

func ofAlarms() []Row { return []Row{Alarms().Row, ApproveAlarm().Row} }

// Alarms returns the current alarms: for users of an organization, those about its targets.
func Alarms() (r Route[None, None, document.AlarmPage]) {
	return r.get(access.Read, "/v1/alarms", "List the current alarms about assignments").tenant()
}

// ApproveAlarm approves the assignments that an alarm blocks.
func ApproveAlarm() (r Route[None, document.ApprovalRequest, document.Done]) {
	return r.post(access.Approve, "/v1/alarms/approve", "Approve the change that an alarm blocks")
}

func ofNotifications() []Row {
	return []Row{Notifications().Row, SetNotification().Row, RemoveNotification().Row, TestNotification().Row,
		ApproveNotice().Row, RejectNotice().Row}
}

// Notifications returns the rules with their unsent notices.
func Notifications() (r Route[None, None, document.NotificationPage]) {
	return r.get(access.Read, "/v1/notifications", "List the rules of notification, and unsent notices")
}

// SetNotification creates or replaces a rule.
func SetNotification() (r Route[None, document.Notification, document.Done]) {
	return r.post(access.Admin, "/v1/notifications", "Create or replace a rule of notification")
}

// RemoveNotification deletes a rule.
func RemoveNotification() (r Route[RuleName, document.ReasonRequest, document.Done]) {
	return r.post(access.Admin, "/v1/notifications/{rule}/remove", "Delete a rule of notification")
}

// TestNotification sends an example through a rule at once.
func TestNotification() (r Route[RuleName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/notifications/{rule}/test", "Send a test notice through a rule")
}

// ApproveNotice sends a notice.
func ApproveNotice() (r Route[NoticeID, document.ReasonRequest, document.Done]) {
	return r.post(access.Approve, "/v1/notices/{notice}/approve", "Approve a notice that waits for approval")
}

// RejectNotice discards a notice.
func RejectNotice() (r Route[NoticeID, document.ReasonRequest, document.Done]) {
	return r.post(access.Approve, "/v1/notices/{notice}/reject", "Reject a notice that waits for approval")
}
