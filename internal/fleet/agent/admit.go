package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/signed"
	"fettle.dev/fettle/internal/fleet/content"
)

// Admission permits the execution of one job.
type Admission struct {
	// Signer is the principal of the key that signed the job, "" if no signature is required.
	Signer string
	// Release lets the same job be admitted again, because it was not executed. nil: it can be
	// admitted again anyway.
	Release func() error
}

// AdmitJob decides whether a policy permits a job. If err is not nil, the policy could not be read,
// and the job is refused with err.
func AdmitJob(p CommandPolicy, err error, m *signed.Memory, d fleet.Job) (Admission, error) {
	if err == nil && p == SignedCommands && d.Signed != "" {
		return admitSigned(m, d)
	}
	if err == nil {
		err = p.Refuses()
	}
	return Admission{}, err
}

// admitSigned permits a job if a valid signature covers exactly its command.
func admitSigned(m *signed.Memory, d fleet.Job) (Admission, error) {
	c, by, err := m.Accept(d.Signed, func(c content.Command) error { return sameJob(c, d.Run) })
	if err != nil {
		return Admission{}, err
	}
	return Admission{Signer: by, Release: func() error { return m.Release(c) }}, nil
}

func sameJob(c content.Command, run *fleet.Command) error {
	if c.Call != content.JobCall {
		return fmt.Errorf(
			"cannot accept the job: its signature is for the call %.40q and not for a job. Sign the job: "+
				"fettle job run --sign-key FILE -- COMMAND", c.Call)
	}
	given, err := json.Marshal(run)
	if err != nil {
		return fmt.Errorf("cannot compare the job with its signature: %w", err)
	}
	if !bytes.Equal(given, c.Params) {
		return errors.New(
			"cannot accept the job: the delivered command differs from the signed command. If hub and agent have the same version, " +
				"the hub altered the command: see fettle-security, stolen hubs")
	}
	return nil
}

// AcceptCall accepts a signed call over a stream of a hub.
func AcceptCall(m *signed.Memory, text string) (wire.Accepted, error) {
	c, by, err := m.Accept(text, func(c content.Command) error {
		if c.Call == content.JobCall {
			return errors.New(
				"cannot accept the call: its signature is for a job and not for a call. Sign the command again with --via hub")
		}
		return nil
	})
	return wire.Accepted{Call: c.Call, Params: c.Params, Signer: by}, err
}

// fromFleet is the origin of a job, for the history of the host.
func fromFleet(signer string) string {
	if signer == "" {
		return "fleet"
	}
	return "fleet, signed by " + signer
}
