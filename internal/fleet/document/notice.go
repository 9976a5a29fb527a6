package document

import (
	"cmp"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// Formats of documents about notifications.
const (
	NotificationPageFormat = "fettle.fleet.notifications/1"
	NoticeFormat           = "fettle.notice/1"
	AlarmPageFormat        = "fettle.fleet.alarms/1"
)

// Notification is a rule that selects events and their channel: exactly one of the pointers is set. It contains no
// secrets: it names files in the directory notify of a hub.
type Notification struct {
	Name string `json:"name"`
	// On are the kinds of events; none means alarm, failed, silent and hub.
	On []string `json:"on,omitempty"`
	// Select are targets, in the form of -t. Without it, the rule is for all targets, and for
	// events without a target.
	Select []string `json:"select,omitempty"`
	// Every is the time over which events are collected, and the minimum time between two notices;
	// 0 is half a minute.
	Every    int64    `json:"every_ns,omitempty"`
	Template string   `json:"template,omitempty"` // "" is the default template
	Webhook  *Webhook `json:"webhook,omitempty"`
	Mail     *Mail    `json:"mail,omitempty"`
	Command  *Command `json:"command,omitempty"`
	By       string   `json:"by,omitempty"`
	Changed  int64    `json:"changed,omitempty"`
}

// Recipient describes where a rule sends its notices, in a few words; "" if it sends none.
func (r Notification) Recipient() string {
	switch {
	case r.Webhook != nil:
		return cmp.Or(r.Webhook.URL, "URL in "+r.Webhook.File)
	case r.Mail != nil:
		return strings.Join(r.Mail.To, ",")
	case r.Command != nil:
		return strings.Join(append([]string{r.Command.Program}, r.Command.Args...), " ")
	}
	return ""
}

// Webhook sends the notice as JSON by POST.
type Webhook struct {
	URL string `json:"url,omitempty"`
	// File contains the URL instead, if the URL is a secret.
	File string `json:"file,omitempty"`
	// Sign is the file of a secret: the header X-Fettle-Signature contains the HMAC-SHA256 of the
	// body.
	Sign string `json:"sign,omitempty"`
}

// Mail sends the notice by SMTP. Without TLS it connects only to this machine.
type Mail struct {
	Server   string   `json:"server"` // HOST:PORT; port 465 uses TLS from the beginning, other ports STARTTLS
	From     string   `json:"from"`
	To       []string `json:"to"`
	User     string   `json:"user,omitempty"`
	Password string   `json:"password,omitempty"` // the file
}

// Command runs a program of the hub's directory notify, with the notice on standard input.
type Command struct {
	Program string   `json:"program"`
	Args    []string `json:"args,omitempty"`
	// Approve delays each notice until a user has approved it.
	Approve bool `json:"approve,omitempty"`
}

// Notice has the events that are sent together. The same notice may be sent twice, with the same
// ID.
type Notice struct {
	Format  string       `json:"format"`
	ID      string       `json:"id"`
	Fleet   string       `json:"fleet"`
	Rule    string       `json:"rule"`
	At      int64        `json:"at"`
	Subject string       `json:"subject"`
	Text    string       `json:"text"`
	Items   []NoticeItem `json:"items"`
	More    int          `json:"more,omitempty"` // number of further items
}

// NoticeItem is one event or condition.
type NoticeItem struct {
	Kind     string         `json:"kind"`
	Resolved bool           `json:"resolved,omitempty"` // a reported condition has ended
	Target   fleet.TargetID `json:"target,omitempty"`
	Name     string         `json:"name,omitempty"` // of the target
	Module   string         `json:"module,omitempty"`
	Text     string         `json:"text,omitempty"`
	At       int64          `json:"at"`
}

// NotificationState is a rule with the state of its notices.
type NotificationState struct {
	Rule  Notification `json:"rule"`
	Holds int          `json:"holds"` // number of reported conditions that still hold
	Sent  uint64       `json:"sent"`  // notices so far
	Last  int64        `json:"last,omitempty"`
	Lost  uint64       `json:"lost,omitempty"` // notices that could not be delivered for a day
	Error string       `json:"error,omitempty"`
	// Waiting are notices that are not sent yet, the oldest first.
	Waiting []WaitingNotice `json:"waiting"`
}

// WaitingNotice is a notice that is not sent yet.
type WaitingNotice struct {
	ID      string `json:"id"`
	At      int64  `json:"at"`
	Subject string `json:"subject"`
	Tries   int    `json:"tries"`
	Error   string `json:"error,omitempty"`
	Approve bool   `json:"approve,omitempty"` // it waits for the approval of a user
}

// NotificationPage has all rules.
type NotificationPage struct {
	Format        string              `json:"format"`
	Notifications []NotificationState `json:"notifications"`
}

// Alarm is a problem with assignments: a part of the fleet stays unchanged.
type Alarm struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"` // the problem and the next step
	Module string `json:"module,omitempty"`
	// Targets are some of the Count affected targets.
	Targets []string `json:"targets"`
	Count   int      `json:"count"`
	Digest  string   `json:"digest,omitempty"` // the digest that an approval must contain
	// Held is the content that is held, or nil.
	Held *fleet.HeldContent `json:"held,omitempty"`
	// Organization is the organization of the targets, if the alarm is about targets of one.
	Organization string `json:"organization,omitempty"`
}

// AlarmPage has the current alarms. Users of an organization get those about its targets.
type AlarmPage struct {
	Format string  `json:"format"`
	Alarms []Alarm `json:"alarms"`
}

// ApprovalRequest approves the change that an alarm blocks.
type ApprovalRequest struct {
	Digest string `json:"digest"`
}
