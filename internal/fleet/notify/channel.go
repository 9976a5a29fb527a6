package notify

import (
	"context"

	"fettle.dev/fettle/internal/fleet/document"
)

// Channel delivers the notices of one rule. Its settings are a field of document.Notification.
type Channel interface {
	// Check returns an error for invalid settings.
	Check() error
	// Send makes one attempt to deliver a notice, until ctx ends. Its errors contain no secrets.
	Send(ctx context.Context, s *Sender, n document.Notice) error
}

// channelsOf returns the channels of a rule. A valid rule has one.
func channelsOf(r document.Notification) (out []Channel) {
	if r.Webhook != nil {
		out = append(out, (*webhook)(r.Webhook))
	}
	if r.Mail != nil {
		out = append(out, (*mailing)(r.Mail))
	}
	if r.Command != nil {
		out = append(out, (*program)(r.Command))
	}
	return out
}
