package agent

import (
	"cmp"
	"path"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/agent/service"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/ui/cli"
)

// agentCertificate is one of a service of this machine.
type agentCertificate struct {
	Name  string   `json:"name"`
	Names []string `json:"names"`
	Dir   string   `json:"dir"`
	// Is is the state: there, pending, revoked, or missing.
	Is     string `json:"is"`
	Serial string `json:"serial,omitempty"`
	Until  int64  `json:"until,omitempty"` // ns since 1970
	Reload string `json:"reload,omitempty"`
	Error  string `json:"error,omitempty"` // why the last ask failed
}

func agentCertificates(files host.FS) ([]agentCertificate, error) {
	wishes, err := (&service.Keeper{State: files, Wants: wantsDir}).Orders()
	var out []agentCertificate
	for _, w := range wishes {
		is := "missing"
		switch {
		case w.Revoked:
			is = "revoked"
		case w.Serial != "":
			is = "there"
		case w.Pending:
			is = "pending"
		}
		out = append(out, agentCertificate{Name: w.Name, Names: w.Names, Dir: path.Join(service.Dir, w.Name), Is: is,
			Serial: w.Serial, Until: w.Until * int64(time.Second), Reload: w.Reload, Error: w.Error})
	}
	return out, err
}

func showAgentCertificates(s *cli.Printer, all []agentCertificate) {
	rows := [][]string{}
	for _, c := range all {
		until := "-"
		if c.Until > 0 {
			until = s.Moment(c.Until)
		}
		rows = append(rows, []string{c.Name, c.Is, until, cmp.Or(c.Reload, "-"), strings.Join(c.Names, " "), c.Error})
	}
	if len(rows) > 0 {
		s.Printf("\n")
		s.Style().Table(s.App.Stdout, []string{"CERTIFICATE", "STATE", "EXPIRES", "RELOADS", "NAMES", "ERROR"}, rows)
	}
}
