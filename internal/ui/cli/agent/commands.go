package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	joined "fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/agent/signed"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
	hostcmd "fettle.dev/fettle/internal/ui/cli/host"
)

// commandMemory remembers the signed commands that the host executed.
func commandMemory(files host.FS, mb *joined.Member) *signed.Memory {
	return &signed.Memory{Files: files, Dir: path.Join(agentDir, "commands"),
		Trust: func() (content.CommandTrust, error) { return joined.CommandTrust(mb) }}
}

// hubStream is a stream that a hub opened to the engine of this machine.
type hubStream struct {
	machine cli.Machine
	member  *joined.Member
	memory  *signed.Memory
	header  []byte
	stream  io.ReadWriteCloser
}

// serveHub serves this machine's executor to a user that a hub has admitted. The connection to the hub
// existed before the run that may have locked users out, so it does not prove that a login is
// possible: such a run is confirmed over a new connection.
func serveHub(ctx context.Context, s *cli.Printer, in hubStream) {
	var h fleet.ExecutorHeader
	if err := json.Unmarshal(in.header, &h); err != nil {
		_ = in.stream.Close()
		return
	}
	served := hostcmd.ServedBy(ctx, s, in.machine, strings.TrimSpace("fleet "+h.By))
	served.ReadOnly, served.Proof = !h.Changes, in.member.Contact
	policy, err := commandPolicy(in.machine)
	if policy == agent.NoCommands {
		if err == nil {
			err = policy.Refuses()
		}
		// The client shows the text as the message of this end, instead of the protocol.
		_, _ = fmt.Fprintln(in.stream, err)
		_ = in.stream.Close()
		return
	}
	limited(policy, h.Changes, in.memory, &served)
	_ = wire.Serve(ctx, in.stream, served) // the client gets the error
}

// limited limits a connection by the policy of the host, in addition to the rights at the hub. A
// user who may only read cannot change that with a signature.
func limited(p agent.CommandPolicy, changes bool, m *signed.Memory, served *wire.Served) {
	why := p.Refuses()
	if why == nil || p == agent.SignedCommands && !changes {
		return
	}
	served.ReadOnly, served.Refused = true, why
	if p == agent.SignedCommands {
		served.Accept = func(text string) (wire.Accepted, error) { return agent.AcceptCall(m, text) }
	}
}

// agentConf returns the settings of this host for its agent. The file is read each time, so that a
// change counts at once; an unreadable file refuses all commands.
func agentConf(m cli.Machine) (agent.Conf, error) {
	text, err := os.ReadFile(filepath.Join(m.Root, agent.ConfFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return agent.Conf{Commands: agent.NoCommands}, fmt.Errorf("cannot read the settings of the agent: %w", err)
	}
	return agent.ParseConf(string(text))
}

// commandPolicy returns which commands this host accepts through a hub.
func commandPolicy(m cli.Machine) (agent.CommandPolicy, error) {
	c, err := agentConf(m)
	return c.Commands, err
}
