package document

import "fettle.dev/fettle/internal/fleet"

// Formats of what is told of notifications.
const (
	NotificationPageFormat = "fettle.fleet.notifications/1"
	NoticeFormat           = "fettle.notice/1"
	AlarmPageFormat        = "fettle.fleet.alarms/1"
)

// Notification is a rule: what is told, and to whom. Exactly one of Webhook, Mail and
// Command is set. Secrets are not in it: it names files in the directory notify of a hub.
type Notification struct {
	Name string `json:"name"`
	// On are the kinds that it is about; none are alarm, failed, silent and hub.
	On     []string `json:"on,omitempty"`
	Select []string `json:"select,omitempty"` // targets, as -t has it; none is all, and what is about none
	// Every is how long what happens is gathered, and the least time between two
	// notices; 0 is half a minute.
	Every    int64    `json:"every_ns,omitempty"`
	Template string   `json:"template,omitempty"` // "" is the one that there is
	Webhook  *Webhook `json:"webhook,omitempty"`
	Mail     *Mail    `json:"mail,omitempty"`
	Command  *Command `json:"command,omitempty"`
	By       string   `json:"by,omitempty"`
	Changed  int64    `json:"changed,omitempty"`
}

// Webhook sends the notice as JSON by POST.
type Webhook struct {
	URL string `json:"url,omitempty"`
	// File holds the URL instead, where the URL is a secret.
	File string `json:"file,omitempty"`
	// Sign is the file of a secret: the body's HMAC-SHA256 goes along as X-Fettle-Signature.
	Sign string `json:"sign,omitempty"`
}

// Mail sends it by SMTP. Without TLS it goes to this machine alone.
type Mail struct {
	Server   string   `json:"server"` // HOST:PORT; port 465 speaks TLS from the beginning, others STARTTLS
	From     string   `json:"from"`
	To       []string `json:"to"`
	User     string   `json:"user,omitempty"`
	Password string   `json:"password,omitempty"` // the file
}

// Command runs a program of the hub's directory notify, with the notice on standard input.
type Command struct {
	Program string   `json:"program"`
	Args    []string `json:"args,omitempty"`
	// Approve keeps it waiting until somebody has approved that notice.
	Approve bool `json:"approve,omitempty"`
}

// Notice is what is told at once. The same notice may come twice, with the same ID.
type Notice struct {
	Format  string       `json:"format"`
	ID      string       `json:"id"`
	Fleet   string       `json:"fleet"`
	Rule    string       `json:"rule"`
	At      int64        `json:"at"`
	Subject string       `json:"subject"`
	Text    string       `json:"text"`
	Items   []NoticeItem `json:"items"`
	More    int          `json:"more,omitempty"` // that are not among the items
}

// NoticeItem is one thing that is told.
type NoticeItem struct {
	Kind     string         `json:"kind"`
	Resolved bool           `json:"resolved,omitempty"` // what was told before holds no more
	Target   fleet.TargetID `json:"target,omitempty"`
	Name     string         `json:"name,omitempty"` // of the target
	Module   string         `json:"module,omitempty"`
	Text     string         `json:"text,omitempty"`
	At       int64          `json:"at"`
}

// NotificationState is a rule with what becomes of its notices.
type NotificationState struct {
	Rule  Notification `json:"rule"`
	Holds int          `json:"holds"` // conditions that were told and hold
	Sent  uint64       `json:"sent"`  // notices so far
	Last  int64        `json:"last,omitempty"`
	Lost  uint64       `json:"lost,omitempty"` // that nobody took for a day
	Error string       `json:"error,omitempty"`
	// Waiting are notices that are not sent yet, the oldest first.
	Waiting []WaitingNotice `json:"waiting"`
}

// WaitingNotice is one that was not sent yet.
type WaitingNotice struct {
	ID      string `json:"id"`
	At      int64  `json:"at"`
	Subject string `json:"subject"`
	Tries   int    `json:"tries"`
	Error   string `json:"error,omitempty"`
	Approve bool   `json:"approve,omitempty"` // it waits for somebody's approval
}

// NotificationPage is all rules.
type NotificationPage struct {
	Format        string              `json:"format"`
	Notifications []NotificationState `json:"notifications"`
}

// Alarm is something that is wrong with what targets are to be: something stays as it was.
type Alarm struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"` // what, and what to do
	Module string `json:"module,omitempty"`
	// Targets are some of the Count that it is about.
	Targets []string `json:"targets"`
	Count   int      `json:"count"`
	Digest  string   `json:"digest,omitempty"` // what an approval has to name
}

// AlarmPage is all that is wrong now.
type AlarmPage struct {
	Format string  `json:"format"`
	Alarms []Alarm `json:"alarms"`
}

// ApprovalRequest approves what an alarm keeps from happening.
type ApprovalRequest struct {
	Digest string `json:"digest"`
}
