package enrol

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/hint"
)

// tokenLife is the time during which a token is valid for its one target.
const tokenLife = 30 * time.Minute

// agentStatus is the part of the JSON document of fettle agent status and enrol that is needed here.
type agentStatus struct {
	ID    fleet.TargetID `json:"id"`
	Fleet string         `json:"fleet"`
}

// join makes the host a target with a token of its own, unless it is a target of this fleet.
func (e *enrolment) join(ctx context.Context) (fleet.TargetID, error) {
	again, id, err := e.standing(ctx)
	if err != nil || id != "" {
		return id, err
	}
	tok, err := e.Hub.CreateToken(ctx, document.TokenRequest{Labels: e.host.Labels, Names: e.host.Name, Uses: 1,
		Expires: int64(tokenLife), Note: "fettle target enrol"})
	if err != nil {
		return "", err
	}
	res, err := e.run(ctx, "enrol it", executor.Command{Argv: [][]string{e.enrolCommand(again)},
		Stdin: []byte(tok.Secret + "\n"), Hide: []string{tok.Secret}})
	if err != nil {
		_ = e.Hub.RevokeToken(context.WithoutCancel(ctx), tok.Token.ID) // it expires soon
		return "", err
	}
	var doc agentStatus
	if err := json.Unmarshal([]byte(res.Stdout), &doc); err != nil {
		return "", fmt.Errorf("cannot read the result of its enrolment: %w", err)
	}
	e.New = true
	return doc.ID, nil
}

func (e *enrolment) enrolCommand(again bool) []string {
	argv := []string{installedBinary, "agent", "enrol", "--hub", e.URL, "--token-file", "-", "--name", e.host.Name,
		"--json"}
	if again {
		argv = append(argv, "--again")
	}
	if e.Adopt {
		argv = append(argv, "--replace-applied-state")
	}
	return argv
}

// standing returns the identity of a host that is a target of this fleet. again means that the host was a
// target, and that the fleet no longer trusts its identity.
func (e *enrolment) standing(ctx context.Context) (again bool, id fleet.TargetID, err error) {
	enrolled, text, err := e.ask(ctx, installedBinary, "agent", "status", "--json")
	if err != nil || !enrolled {
		return false, "", err
	}
	var doc agentStatus
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return false, "", fmt.Errorf("cannot read the status of its agent: %w", err)
	}
	d, err := e.Hub.Target(ctx, doc.ID)
	switch {
	case client.Missing(err):
		return false, "", hint.Refuse(
			"If it must leave that fleet, run on the host: fettle agent enrol --again --hub URL --token-file FILE",
			fmt.Sprintf("cannot enrol it: it is a target of the fleet %q, but not of this hub", doc.Fleet))
	case err != nil:
		return false, "", err
	case d.Target.Standing == fleet.Retired || d.Target.Standing == fleet.Revoked:
		return true, "", nil
	case d.Target.Name != e.host.Name:
		return false, "", hint.Refuse(
			"Use that name in the repository, or retire that target first: fettle target retire "+d.Target.Name,
			fmt.Sprintf("cannot enrol it: it is already in the fleet, as %s", d.Target.Name))
	}
	return false, doc.ID, nil
}

// adopt lets the agent of a host that was a target before replace the applied state.
func (e *enrolment) adopt(ctx context.Context) error {
	_, err := e.run(ctx, "let its agent replace the applied state",
		executor.Command{Argv: [][]string{{installedBinary, "agent", "enrol", "--replace-applied-state"}}})
	e.Adopted = err == nil
	return err
}

// start starts the agent now and at each boot. After a change, it restarts a running agent, which still
// has the old binary or identity.
func (e *enrolment) start(ctx context.Context) error {
	verb := "start"
	if e.Changed() {
		verb = "restart"
	}
	_, err := e.run(ctx, "start the agent", executor.Command{Argv: [][]string{
		{"systemctl", "daemon-reload"},
		{"systemctl", "enable", "--quiet", "fettle-recover.service", "fettle-agent.service"},
		{"systemctl", verb, "fettle-agent.service"},
	}})
	return err
}

// pollInterval is the time between two questions to the hub about the connection of an agent.
const pollInterval = 300 * time.Millisecond

// connected waits until the agent is connected to the hub, and returns the name of its target.
func (e *enrolment) connected(ctx context.Context, id fleet.TargetID) (name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.Within)
	defer cancel()
	for {
		d, err := e.Hub.Target(ctx, id)
		if err == nil && d.Target.Connected {
			return d.Target.Name, nil
		}
		select {
		case <-ctx.Done():
			return "", hint.With(
				fmt.Errorf("cannot confirm the enrolment: its agent did not connect to the hub within %s", e.Within),
				"See its log on the host: journalctl -u fettle-agent\nIt must reach the hub at "+e.URL+" and at its bus, port 7441")
		case <-time.After(pollInterval):
		}
	}
}
