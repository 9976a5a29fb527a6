package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewLogin builds the command login, to set the hub and the user for fleet commands.
func NewLogin(s *cli.Session) *cobra.Command {
	authority, web, user := "", false, ""
	c := &cobra.Command{
		Use:   "login HUB",
		Short: "Set the hub and the user for fleet commands",
		Long: `Logs in to a hub. It reads a token from standard input, and checks it with the
hub. It then stores the token, the address of the hub and the digest of its
fleet CA in fettle/hub.json of your configuration directory. Only you can read
this file.

A hub is identified by its fleet CA. Give --ca-digest with the digest that the
hub shows on its own host. Without --ca-digest, the login to an https address
is refused, and the digest of the hub that answered is shown: compare the two.
After the login, only hubs of that fleet CA are trusted, at any address.

Hosts can require signed commands. Set your SSH key for them with --sign-key.

With --web, it prints a link to the pages of the hub, with your stored login.
The link works once, for two minutes, and signs a browser in for at most 12
hours. The browser then has at most your rights. Its session is a login token:
see it with fettle user logins, and end it with fettle user revoke. It also ends
with the token of your login. An admin can name another user with --user.`,
		Example: "  fettle login https://hub.example.org:7440 --ca-digest sha256:2f5c… <token\n  fettle login unix:///run/fettle-hub/hub.sock </dev/null\n" +
			"  fettle login --web",
		Args: cli.Args(0, 1),
		RunE: func(c *cobra.Command, a []string) error {
			if err := checkLogin(a, authority, web, user); err != nil {
				return err
			}
			if web {
				return showWebLogin(c.Context(), s, user)
			}
			return logIn(c.Context(), s, a[0], authority)
		},
	}
	c.Flags().BoolVar(&web, "web", false, "print a link that signs a browser in, once")
	c.Flags().StringVar(&user, "user", "", "with --web: sign in the user `NAME`")
	c.Flags().StringVar(&authority, "ca-digest", "",
		"the `DIGEST` of the certificate of the fleet CA, as the hub shows it")
	return c
}

func logIn(ctx context.Context, s *cli.Session, hub, authority string) error {
	file := hubclient.LoginFile(s.Printer)
	if file == "" {
		return cli.Refuse("Set HOME to your own directory", "cannot store a login: HOME is not set")
	}
	if authority == "" && strings.HasPrefix(hub, "https://") {
		found, err := client.Authority(ctx, hub)
		if err != nil {
			return err
		}
		return cli.Refuse("If the hub shows the same digest on its own host: fettle login "+hub+" --ca-digest "+found,
			"cannot verify the identity of the hub: the digest of its fleet CA is "+found)
	}
	text, err := io.ReadAll(io.LimitReader(s.App.Stdin, 64<<10))
	if err != nil {
		return fmt.Errorf("cannot read the token: %w", err)
	}
	l := client.Login{Format: client.LoginFormat, Hub: strings.TrimSuffix(hub, "/"),
		Token: strings.TrimSpace(string(text)), Authority: authority}
	if l.Token == "" && !strings.HasPrefix(hub, "unix:") {
		return cli.Refuse("Give it on standard input: fettle login "+hub+" … <FILE", "cannot log in without a token")
	}
	if s.ConnectOpts.SignKey != "" && s.ConnectOpts.SignKey != hubclient.NoSigning {
		if l.SignKey, err = filepath.Abs(s.ConnectOpts.SignKey); err != nil {
			return fmt.Errorf("cannot find the key for signing: %w", err)
		}
	}
	c, err := hubclient.ClientOf(s.Printer, l)
	if err != nil {
		return err
	}
	who, err := client.Get(ctx, c, route.WhoAmI())
	if err != nil {
		return err
	}
	if err := keepLogin(file, l); err != nil {
		return err
	}
	if s.JSON {
		return s.Document(hubclient.LoginDoc{Format: "fettle.login/1", Hub: l.Hub, Authority: l.Authority, Name: who.Name,
			Rights: who.Rights})
	}
	within := ""
	if who.Organization != "" {
		within = " of the organization " + who.Organization
	}
	s.Printf("Logged in to %s as %s%s, with these rights: %s.\n", l.Hub, who.Name, within,
		strings.Join(who.Rights, ", "))
	return nil
}

// keepLogin writes for its owner alone, whole.
func keepLogin(file string, l client.Login) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	temp := file + ".new"
	if err == nil {
		err = os.Remove(temp)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = os.WriteFile(temp, append(text, '\n'), 0o600)
	}
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		return fmt.Errorf("cannot store the login: %w", err)
	}
	return nil
}
