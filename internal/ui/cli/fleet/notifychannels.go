package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// notifyFlags are the flags of a rule.
type notifyFlags struct {
	rule     document.Notification
	hook     document.Webhook
	mail     document.Mail
	command  document.Command
	every    time.Duration
	template string
}

// notifyChannel describes the flags of one kind of channel.
type notifyChannel struct {
	flags    []string // one of them selects the channel
	settings []string // flags without an effect if the channel is not selected
	hint     string
	// set sets the channel in the rule if its flags select it.
	set func(f *notifyFlags, r *document.Notification)
}

// notifyChannels returns all kinds of channels.
func notifyChannels() []notifyChannel {
	return []notifyChannel{
		{[]string{"webhook", "webhook-file"}, []string{"secret-file"}, "--webhook URL",
			func(f *notifyFlags, r *document.Notification) {
				if f.hook.URL != "" || f.hook.File != "" {
					r.Webhook = &f.hook
				}
			}},
		{[]string{"mail"}, []string{"from", "server", "user", "password-file"}, "--mail ADDRESS",
			func(f *notifyFlags, r *document.Notification) {
				if len(f.mail.To) > 0 {
					r.Mail = &f.mail
				}
			}},
		{[]string{"command"}, []string{"approve"}, "--command PROGRAM",
			func(f *notifyFlags, r *document.Notification) {
				if f.command.Program != "" {
					r.Command = &f.command
				}
			}},
	}
}

// refuseLoneFlags refuses a setting of a channel without the channel, which would have no effect.
func refuseLoneFlags(given func(flag string) bool) error {
	for _, c := range notifyChannels() {
		if slices.ContainsFunc(c.flags, given) {
			continue
		}
		if i := slices.IndexFunc(c.settings, given); i >= 0 {
			flag := "--" + c.settings[i]
			return cli.Refuse("Add "+c.hint+", or omit "+flag,
				fmt.Sprintf("cannot use %s without --%s", flag, strings.Join(c.flags, " or --")))
		}
	}
	return nil
}
