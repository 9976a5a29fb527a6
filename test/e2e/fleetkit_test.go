package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/gobuild"
)

// units puts the program where the package has it, with the units of the package.
func (m *machine) units() {
	m.t.Helper()
	m.Run(m.t, "install", "/usr/local/bin/fettle", "/usr/bin/fettle")
	for _, name := range []string{"fettle-agent.service", "fettle-hub.service", "fettle-hub-tasks.service",
		"fettle-recover.service"} {
		text, err := os.ReadFile(filepath.Join("../../packaging/systemd", name))
		if err != nil {
			m.t.Fatal(err)
		}
		m.WriteFile(m.t, "/usr/lib/systemd/system/"+name, string(text), 0o644)
	}
	m.Run(m.t, "systemctl", "daemon-reload")
}

// buildProgram builds a program for hosts from a package of this module.
func buildProgram(t *testing.T, pkg, version string) string {
	t.Helper()
	dependsOnSources(t)
	bin := filepath.Join(t.TempDir(), "program")
	if err := gobuild.Program(bin, pkg, "-ldflags", gobuild.Link+" -X main.version="+version); err != nil {
		t.Fatal(err)
	}
	return bin
}

// events are what the hub tells, in words.
func (f *fleetOf) events() string { return f.hub.Exec("fettle", "events").Stdout }

// told waits until the hub tells something.
func (f *fleetOf) told(text string) {
	f.t.Helper()
	f.await("the hub tells "+text, func() bool { return strings.Contains(f.events(), text) })
}

// byHand writes into a file that is there, as an editor does: an agent that repairs may be
// as fast as whoever makes one anew.
func (m *machine) byHand(file, text string) {
	m.t.Helper()
	if r := m.ExecInput(strings.NewReader(text), "tee", file); r.ExitCode != 0 {
		m.t.Fatalf("%s: %s", m.Name, r.Stderr)
	}
}

// situation returns what the hubs know of the fleet, and the last lines in the journals of all hosts.
func situation(hubs, agents []*machine) string {
	var out strings.Builder
	for _, words := range [][]string{{"hub", "list", "--json"}, {"status", "--fleet"}, {"target", "list"}, {"events"}} {
		r := hubs[0].Exec(append([]string{"fettle"}, words...)...)
		fmt.Fprintf(&out, "\n%s%s", r.Stdout, r.Stderr)
	}
	for _, a := range agents {
		r := a.Exec("fettle", "agent", "status")
		fmt.Fprintf(&out, "\n%s:\n%s%s", a.Name, r.Stdout, r.Stderr)
	}
	for _, m := range slices.Concat(hubs, agents) {
		journal := m.Exec("journalctl", "-u", "fettle-hub", "-u", "fettle-agent", "-n", "40", "-o", "short-precise")
		fmt.Fprintf(&out, "\n%s:\n%s", m.Name, journal.Stdout)
	}
	return out.String()
}
