// Package packaging holds the files that a package of fettle installs besides the program,
// for a machine that gets the program without the package.
//
//	text, err := packaging.Unit("fettle-agent.service")
package packaging

import "embed"

//go:embed systemd/fettle-agent.service systemd/fettle-recover.service
var units embed.FS

// UnitDirectory is where units belong: the package puts the same ones there.
const UnitDirectory = "/usr/lib/systemd/system"

// AgentUnits are the names of the units that a machine with an agent needs.
func AgentUnits() []string { return []string{"fettle-agent.service", "fettle-recover.service"} }

// Unit is the text of one of AgentUnits. fs.ErrNotExist is in the chain of the error
// about any other.
func Unit(name string) ([]byte, error) { return units.ReadFile("systemd/" + name) }
