package agent

import (
	"errors"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// agentDir is the directory of an agent in the state directory.
const agentDir = "/agent"

// agentFiles opens the state directory for an agent, and makes it.
func agentFiles(s *cli.Session) (cli.Machine, host.FS, func() error, error) {
	m, err := s.Machine()
	if err == nil && s.App.Agent.State == nil {
		err = errors.New("cannot run an agent: this binary was built without support for agents")
	}
	if err != nil {
		return m, nil, nil, err
	}
	files, done, err := s.App.Agent.State(m)
	return m, files, done, err
}

// wantsDir is where the agent keeps which certificates are wanted.
const wantsDir = agentDir + "/certificates"
