package local

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
)

// Simulate implements host.Packages.
func (p *packages) Simulate(ctx context.Context, changes []host.PackageChange) (map[string]string, error) {
	if err := checkNames(changes); err != nil {
		return nil, err
	}
	inv, err := p.inventory(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.refuseHeld(inv, changes); err != nil {
		return nil, err
	}
	words := p.words(inv, changes)
	if len(words) == 0 {
		return map[string]string{}, nil
	}
	argv := append(p.aptGet(inv, changes), "--simulate")
	if len(ownHolds(inv, changes)) > 0 {
		argv = append(argv, "--allow-change-held-packages")
	}
	r, err := p.h.Run(ctx, host.Command{Argv: append(argv, words...), Env: aptEnv(), Timeout: 5 * time.Minute})
	if err != nil {
		return nil, fmt.Errorf("cannot simulate packages: %w", err)
	}
	if r.ExitCode != 0 {
		return nil, p.aptError(ctx, inv, r)
	}
	return simulated(inv, r.Stdout, changes), nil
}

// simulated reads the lines that apt-get -s writes for programs: Inst, Remv
// and Purg with a name and, in brackets, the version that is installed.
func simulated(inv inventory, out []byte, changes []host.PackageChange) map[string]string {
	asked := map[string]bool{}
	for _, c := range changes {
		asked[inv.key(c.Name)] = true
	}
	also := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "Inst" && f[0] != "Remv" && f[0] != "Purg" {
			continue
		}
		if name := inv.key(f[1]); !asked[name] {
			also[name] = inv.version(name)
		}
	}
	return also
}
