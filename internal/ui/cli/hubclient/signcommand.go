package hubclient

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// callLife is the time within which a host must begin a signed command over a connection.
const callLife = 10 * time.Minute

// NoSigning is the --sign-key that turns off the key of the login.
const NoSigning = "none"

// signerOf signs commands for targets of one fleet.
type commandSigner struct {
	s    *cli.Session
	file string // of the key
}

// SignerOf is nil if no key was named: with --sign-key, or with the login.
func SignerOf(s *cli.Session) *commandSigner {
	file := s.ConnectOpts.SignKey
	if file == "" && LoggedIn(s.Printer) {
		if l, err := LoginOf(s.Printer); err == nil {
			file = l.SignKey
		}
	}
	if file == "" || file == NoSigning {
		return nil
	}
	return &commandSigner{s, file}
}

// call is for wire.Options.Sign: it signs calls for one target, each for one execution.
func (c *commandSigner) call(ctx context.Context, target string) func(call string, params []byte) (string, error) {
	if c == nil {
		return nil
	}
	return func(call string, params []byte) (string, error) {
		return c.sign(ctx, content.Command{Targets: []string{target}, Call: call, Params: params}, callLife)
	}
}

func (c *commandSigner) sign(ctx context.Context, command content.Command, life time.Duration) (string, error) {
	l, err := LoginOf(c.s.Printer)
	if err != nil {
		return "", err
	}
	digest, err := hex.DecodeString(strings.TrimPrefix(l.Authority, "sha256:"))
	if err != nil || len(digest) != 32 {
		return "", cli.Refuse("Log in: fettle login https://HOST:PORT --ca-digest sha256:…",
			"cannot sign a command through the socket of a hub: it does not prove to which fleet it belongs")
	}
	key, end, err := SigningKey(ctx, c.s.Printer, c.file, "--sign-key")
	if err != nil {
		return "", err
	}
	defer end()
	now := c.s.App.Now()
	command.Fleet = content.FleetFile([32]byte(digest))
	command.From, command.Until = now.Unix()-content.MaxClockSkew, now.Add(life).Unix()
	return command.Sign(key)
}

// SignedJob signs a job for the targets that a selection selects now: these, and no others,
// accept it. It names them on standard error, because the hub evaluated the selection.
func (c *commandSigner) SignedJob(ctx context.Context, hub *client.Client, job document.JobRequest) (string, error) {
	if c == nil || job.Run == nil {
		return "", nil
	}
	names, err := activeNames(ctx, hub, job.Select)
	if err != nil || len(names) == 0 {
		return "", err // the hub refuses an empty selection
	}
	params, err := json.Marshal(job.Run)
	if err != nil {
		return "", fmt.Errorf("cannot sign the job: %w", err)
	}
	signed, err := c.sign(ctx, content.Command{Targets: names, Call: content.JobCall, Params: params},
		time.Duration(job.Expires))
	if err == nil && len(signed) > fleet.MaxSignedJob {
		err = cli.Refuse("Select fewer targets, and send another job to the remaining targets",
			fmt.Sprintf("cannot sign a job of %d bytes: %d are the most", len(signed), fleet.MaxSignedJob))
	}
	if err == nil {
		fmt.Fprintf(c.s.App.Stderr, "Signed for %s: %s\n", render.Count(len(names), "target"),
			render.Escape(strings.Join(names, ", ")))
	}
	return signed, err
}

// activeNames are the names of the active targets that words select. If the words are names,
// the hub must not answer with others.
func activeNames(ctx context.Context, hub *client.Client, words []string) (names []string, err error) {
	page, err := client.GetAt(ctx, hub, route.Targets(), route.TargetQuery{Select: words, Sort: "name"})
	if err != nil {
		return nil, err
	}
	given, plain := cli.PlainNames(words)
	for _, t := range page.Targets {
		if t.Standing != fleet.Active {
			continue
		}
		if plain && !slices.Contains(given, t.Name) && !slices.Contains(given, string(t.ID)) {
			return nil, fmt.Errorf("cannot sign the job: the hub selects %q, which -t does not name", t.Name)
		}
		names = append(names, t.Name)
	}
	return names, nil
}
