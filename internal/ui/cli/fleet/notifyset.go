package fleet

import (
	"context"
	"fmt"
	"os"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"github.com/spf13/cobra"
)

func newNotifySet(s *cli.Session) *cobra.Command {
	var f notifyFlags
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "set RULE [-- ARGUMENT…]",
		Short: "Create a rule: events, and their recipients",
		Long: `Creates a rule. A rule sends notices to one webhook, to mail addresses, or to
one program. Rules name secrets, which are files in the directory notify of the
hub; root of the hub writes them. Programs must also be in that directory. A
program receives the notice as JSON on standard input, and the arguments behind
--. With --approve a program runs only after: fettle notify approve NOTICE.

An https webhook must have a certificate that the system of the hub trusts. For
a private CA, install its certificate on every hub and restart the hubs: copy it
to /usr/local/share/ca-certificates/NAME.crt, and run update-ca-certificates.

Without --on a rule covers alarms, failed or unresponsive targets, and problems
of the hub itself. A problem is sent once when it begins, and again when it is
over. Other kinds are events, such as enrolled, revoked or refused. -t selects
the targets of a rule. Without -t a rule covers all targets, and also notices
that concern no target.

A template uses the syntax of Go's text/template, with .Fleet, .Rule, .ID, .At,
.Summary, .More and .Items. Each item has .Kind, .Name, .Target, .Module, .Text,
.At and .Resolved. The first line of the output is the subject.`,
		Example: "  fettle notify set ops --webhook https://chat.example.org/hook --secret-file hook-key\n\n  fettle notify set night --on failed,unresponsive -t label:env=prod --mail ann@example.org --from fettle@example.org --server mail.example.org:587 --user hub --password-file mail-password\n\n  fettle notify set heal --on failed --command restart-it --approve -- --gently",
		Args:    cli.Args(1, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if err := refuseLoneFlags(c.Flags().Changed); err != nil {
				return err
			}
			return setNotification(c.Context(), s, f, a)
		},
	})
	flags := c.Flags()
	flags.StringSliceVar(&f.rule.On, "on", nil, "send notices of these `KINDS`, separated by commas")
	cli.SpanVar(flags, &f.every, "every", 0,
		"collect notices for this `DURATION`, and then send them together (default: 30s)")
	flags.StringVar(&f.template, "template", "", "format notices with the template in this `FILE`")
	flags.StringVar(&f.hook.URL, "webhook", "", "send JSON to this `URL`, which is not secret")
	flags.StringVar(&f.hook.File, "webhook-file", "", "send JSON to the URL in this `FILE` of the hub")
	flags.StringVar(&f.hook.Sign, "secret-file", "", "sign the webhook with the secret in this `FILE` of the hub")
	flags.StringSliceVar(&f.mail.To, "mail", nil, "send mail to this `ADDRESS`; may be repeated")
	flags.StringVar(&f.mail.From, "from", "", "send mail from this `ADDRESS`")
	flags.StringVar(&f.mail.Server, "server", "localhost:25", "send mail through this `HOST:PORT`")
	flags.StringVar(&f.mail.User, "user", "", "log in to the mail server as this `USER`")
	flags.StringVar(&f.mail.Password, "password-file", "", "log in with the password in this `FILE` of the hub")
	flags.StringVar(&f.command.Program, "command", "", "run this `PROGRAM` in the directory notify of the hub")
	flags.BoolVar(&f.command.Approve, "approve", false, "run the program only after an operator approves the notice")
	return c
}

// request is the rule that the flags say.
func (f notifyFlags) request(name string, more []string) (document.Notification, error) {
	r := f.rule
	r.Name = name
	r.Every = int64(f.every)
	if f.template != "" {
		text, err := os.ReadFile(f.template)
		if err != nil {
			return r, fmt.Errorf("cannot read the template: %w", err)
		}
		r.Template = string(text)
	}
	f.command.Args = more
	for _, c := range notifyChannels() {
		c.set(&f, &r)
	}
	if r.Command == nil && len(more) > 0 {
		return r, cli.Refuse("Name it: --command PROGRAM", "cannot pass arguments without a program")
	}
	return r, nil
}

func setNotification(ctx context.Context, s *cli.Session, f notifyFlags, a []string) error {
	r, err := f.request(a[0], a[1:])
	if err != nil {
		return err
	}
	if r.Select, err = hubclient.SelectedOnHub(s); err != nil {
		return err
	}
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := client.Post(ctx, hub, route.SetNotification(), r)
	if err != nil {
		return err
	}
	return s.Done("set", 0, d.Text+" Try it: fettle notify test "+r.Name)
}
