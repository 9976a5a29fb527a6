package content

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// CommandFormat is the supported format of signed commands.
const CommandFormat = "fettle.signed-command/1"

// MaxSignedCommand is the maximum size of a signed command, in bytes. A command contains its
// standard input.
const MaxSignedCommand = 64 << 20

// MaxCommandLife is the maximum validity of a signed command, in seconds: hosts remember its ID for
// this time. It is longer than hubs store a job.
const MaxCommandLife = 91 * 24 * 3600

// MaxClockSkew is the time by which the clocks of a user and a host may differ, in seconds.
const MaxClockSkew = 120

// JobCall is the Call of a job, which a hub stores for agents that are offline.
const JobCall = "job"

// Command is a command that a user signs for hosts with commands = "signed". It contains everything
// that the host executes; the host ignores all other data of the request:
//
//	signed, err := content.Command{Fleet: file, Targets: []string{"web1"}, Call: "command", Params: params, From: now, Until: soon}.Sign(key)
//
// The result is Text, followed by the signature that ssh-keygen -Y sign -n fettle-command@v1 makes
// of Text.
type Command struct {
	Format string `json:"format"`
	// ID is 32 random hex digits. A host executes each ID once.
	ID string `json:"id"`
	// Fleet is the FleetFile of the fleet.
	Fleet string `json:"fleet"`
	// Targets are the names of the selected targets, without patterns.
	Targets []string `json:"targets"`
	// Call is a call of package wire, or JobCall.
	Call string `json:"call"`
	// Params are the parameters of the call, complete: words, input, user, environment, options.
	Params json.RawMessage `json:"params"`
	// From and Until limit the validity of the command, in seconds since 1970.
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// Text returns the signed text. Each command has exactly one text.
func (c Command) Text() ([]byte, error) {
	c.Format = CommandFormat
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("cannot sign the command: %w", err)
	}
	return append(b, '\n'), nil
}

// Sign returns the command with its signature. It sets Format and ID.
func (c Command) Sign(key SigningKey) (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("cannot sign the command: %w", err)
	}
	c.ID = hex.EncodeToString(id[:])
	text, err := c.Text()
	if err != nil {
		return "", err
	}
	armor, err := key.sign(text, CommandNamespace)
	if err != nil {
		return "", fmt.Errorf("cannot sign the command: %w", err)
	}
	if len(text)+len(armor) > MaxSignedCommand {
		return "", fmt.Errorf("cannot sign a command of %d bytes: the maximum is %d. Copy its input to the target first",
			len(text), MaxSignedCommand)
	}
	return string(text) + armor, nil
}

// ReadCommand parses a signed command without verifying its signature, for hosts that require none.
// Hosts that require signatures must use VerifyCommand.
func ReadCommand(signed string) (Command, error) {
	text, _, err := splitCommand(signed)
	if err != nil {
		return Command{}, err
	}
	return parseCommand([]byte(text))
}

func splitCommand(signed string) (text, armor string, err error) {
	if len(signed) > MaxSignedCommand {
		return "", "", fmt.Errorf("cannot accept a signed command of %d bytes: the maximum is %d", len(signed),
			MaxSignedCommand)
	}
	at := strings.LastIndex(signed, armorBegin) // the arguments of the command may contain it too
	if at < 0 {
		return "", "", errors.New("cannot accept the command: it has no signature")
	}
	return signed[:at], signed[at:], nil
}

var commandID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

// parseCommand parses a text that must be exactly the Text of its command: two programs that read
// the same text must not find different commands in it.
func parseCommand(text []byte) (Command, error) {
	var c Command
	if err := decodeStrictly(text, &c); err != nil || c.Format != CommandFormat {
		return c, fmt.Errorf(
			"cannot read the signed command: its format is not %s. Use the same version of fettle on both machines",
			CommandFormat)
	}
	if again, err := c.Text(); err != nil || !bytes.Equal(again, text) {
		return c, errors.New("cannot read the signed command: its text is not in the form in which fettle writes it")
	}
	if !commandID().MatchString(c.ID) {
		return c, errors.New("cannot read the signed command: its identity is not 32 hex digits")
	}
	return c, nil
}

// CommandTrust has the values with which a host compares a signed command.
type CommandTrust struct {
	Signers Signers
	Fleets  []string // the FleetFiles of the host's fleet
	Target  string   // the name with which the host enrolled
	Now     int64    // seconds since 1970
}

// VerifyCommand verifies that a trusted key signed a command for this host and this time. by is the
// principal of the key. The caller must check that the host has not executed its ID before.
func VerifyCommand(signed string, t CommandTrust) (c Command, by string, err error) {
	text, armor, err := splitCommand(signed)
	if err != nil {
		return c, "", err
	}
	key, err := verifySSH([]byte(armor), []byte(text), CommandNamespace)
	if err != nil {
		return c, "", fmt.Errorf("cannot accept the command: %w", err)
	}
	if by, err = t.Signers.find(key, CommandNamespace, t.Now); err != nil {
		return c, "", fmt.Errorf("cannot accept the command: %w", err)
	}
	if c, err = parseCommand([]byte(text)); err != nil {
		return c, by, err
	}
	if why := c.refuses(t); why != "" {
		return c, by, fmt.Errorf("cannot accept the command that %s signed: %s", by, why)
	}
	return c, by, nil
}

// refuses returns the reason why a command is not for this host or this time, or "".
func (c Command) refuses(t CommandTrust) string {
	switch {
	case !slices.Contains(t.Fleets, c.Fleet):
		return fmt.Sprintf("it is for another fleet, %.80q. Log in to the fleet of this host, and sign it again", c.Fleet)
	case !slices.Contains(c.Targets, t.Target):
		return fmt.Sprintf("it is for %s, and this host enrolled as %q. Select this name, and sign it again",
			someNames(c.Targets), t.Target)
	case c.From < 0 || c.Until-c.From > MaxCommandLife:
		return fmt.Sprintf("it is valid for more than %d days. Sign it for a shorter time", MaxCommandLife/(24*3600))
	case t.Now < c.From:
		return fmt.Sprintf("it is valid from %s, and the clock of this host shows %s. Compare the clocks", day(c.From),
			day(t.Now))
	case t.Now >= c.Until:
		return fmt.Sprintf("it was valid until %s, and the clock of this host shows %s. Sign it again", day(c.Until),
			day(t.Now))
	}
	return ""
}

// someNames returns the first names of a list as text.
func someNames(names []string) string {
	const most = 3
	if len(names) <= most {
		return fmt.Sprintf("%.80q", names)
	}
	return fmt.Sprintf("%.80q and %d more", names[:most], len(names)-most)
}
