package hubclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"fettle.dev/fettle/internal/executor/here"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/ui/cli"
)

// socketOfHub is where a hub on this machine listens for root. A hub of an earlier version that still
// runs after an upgrade of the package listens at formerHubSocket.
const (
	HubSocket       = "/run/fettle-hub/hub.sock"
	formerHubSocket = "/run/fettle/hub.sock"
)

func socketOfHub(s *cli.Printer) string {
	if s.App.HubSocket == "" && !cli.FileExists(HubSocket) && cli.FileExists(formerHubSocket) {
		return formerHubSocket
	}
	return cmp.Or(s.App.HubSocket, HubSocket)
}

// LoginDoc tells of a login. The token is in no document.
type LoginDoc struct {
	Format    string   `json:"format"` // fettle.login/1
	Hub       string   `json:"hub"`
	Authority string   `json:"authority,omitempty"`
	Name      string   `json:"name"`
	Rights    []string `json:"rights"`
}

// LoginFile is the file of the user's login, "" if the user has no home directory.
func LoginFile(s *cli.Printer) string {
	if file := here.PersonalIdentity(s.App.Env); file != "" {
		return filepath.Join(filepath.Dir(file), "hub.json")
	}
	return ""
}

// LoginOf returns the login of the user, or one for the hub on this machine.
func LoginOf(s *cli.Printer) (client.Login, error) {
	var l client.Login
	file := LoginFile(s)
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && cli.FileExists(socketOfHub(s)):
		return client.Login{Hub: "unix://" + socketOfHub(s)}, nil
	case errors.Is(err, fs.ErrNotExist):
		return l, cli.Refuse("Log in: fettle login https://HOST:PORT",
			"cannot connect to a hub: there is no login, and no hub on this host")
	case err == nil:
		err = json.Unmarshal(text, &l)
	}
	if err == nil && l.Format != client.LoginFormat {
		err = fmt.Errorf("its format is %.40q", l.Format)
	}
	if err != nil {
		return l, cli.WithHint(fmt.Errorf("cannot read the login in %s: %w", file, err),
			"Log in again: fettle login https://HOST:PORT")
	}
	return l, nil
}

// Reachable reports whether the user has a login at a hub, or a hub runs on this machine.
func Reachable(s *cli.Printer) bool { return LoggedIn(s) || cli.FileExists(socketOfHub(s)) }

// LoggedIn reports whether the user has a login at a hub.
func LoggedIn(s *cli.Printer) bool { return LoginFile(s) != "" && cli.FileExists(LoginFile(s)) }
