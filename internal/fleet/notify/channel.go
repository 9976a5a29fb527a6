package notify

import (
	"context"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
)

// Channel delivers the notices of one rule. Its settings are a field of document.Notification.
type Channel interface {
	// Check returns an error for invalid settings.
	Check() error
	// Send makes one attempt to deliver a notice, until ctx ends. Its errors contain no secrets.
	Send(ctx context.Context, s *Sender, n document.Notice) error
}

// channelRow is a kind of channel.
type channelRow struct {
	name string // for users
	// of returns the channel of a rule; nil if the rule has none of this kind.
	of func(document.Notification) Channel
}

// channelRows returns all kinds of channels.
func channelRows() []channelRow {
	return []channelRow{
		{"webhook", func(r document.Notification) Channel { return orNil(r.Webhook, (*webhookChannel)(r.Webhook)) }},
		{"mail", func(r document.Notification) Channel { return orNil(r.Mail, (*mailChannel)(r.Mail)) }},
		{"command", func(r document.Notification) Channel { return orNil(r.Command, (*commandChannel)(r.Command)) }},
	}
}

// orNil returns a channel, or nil if a rule has no settings of it.
func orNil[T any](settings *T, c Channel) Channel {
	if settings == nil {
		return nil
	}
	return c
}

// channelsOf returns the channels of a rule. A valid rule has one.
func channelsOf(r document.Notification) (out []Channel) {
	for _, row := range channelRows() {
		if c := row.of(r); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// channelNames returns the names of all kinds of channels, for messages, as in "webhook, mail or command".
func channelNames() string {
	var names []string
	for _, row := range channelRows() {
		names = append(names, row.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
