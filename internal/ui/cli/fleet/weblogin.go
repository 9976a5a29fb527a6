package fleet

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// checkLogin refuses arguments of the command login that do not fit together.
func checkLogin(hubs []string, authority string, web bool, user string) error {
	switch {
	case web && (len(hubs) > 0 || authority != ""):
		return cli.Refuse("Use the hub of your login: fettle login --web",
			"cannot create a link of another hub: --web uses the stored login")
	case !web && user != "":
		return cli.Refuse("Sign a browser in: fettle login --web --user "+user, "cannot use --user without --web")
	case !web && len(hubs) == 0:
		return cli.Refuse("Name the hub: fettle login https://hub.example.org:7440", "cannot log in without a hub")
	}
	return nil
}

// showWebLogin prints a link that signs a browser in.
func showWebLogin(ctx context.Context, s *cli.Session, user string) error {
	login, err := hubclient.LoginOf(s.Printer)
	if err != nil {
		return err
	}
	hub, err := hubclient.ClientOf(s.Printer, login)
	if err != nil {
		return err
	}
	w, err := client.Post(ctx, hub, route.CreateWebLogin(), document.WebLoginRequest{User: user})
	if err != nil {
		return err
	}
	if w.Link, err = linkAt(login.Hub, w.Link); err != nil {
		return err
	}
	if s.JSON {
		return s.Document(w)
	}
	s.Printf("Open this link in a browser, to sign in as %s. It works once, until %s:\n\n  %s\n\n"+
		"The browser warns about the certificate unless it trusts the fleet CA: see docs/fleet-security.md.\n"+
		"Without it: fettle ui\n", w.User, s.Moment(w.Expires), w.Link)
	return nil
}

// linkAt returns a link with the address of the hub in the login: this host reaches the hub there. A socket has no
// address for browsers.
func linkAt(hub, link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", fmt.Errorf("cannot read the link of the hub: %w", err)
	}
	if strings.HasPrefix(hub, "https://") {
		return strings.TrimSuffix(hub, "/") + u.RequestURI(), nil
	}
	return link, nil
}
