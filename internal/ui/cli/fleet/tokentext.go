package fleet

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// lets describes the hosts or hubs that a token admits.
func lets(t document.Token) string {
	if t.Hub {
		return "1 hub"
	}
	return render.Count(t.Uses, "target")
}

func showTokens(s *cli.Printer, p document.TokenPage) {
	if len(p.Tokens) == 0 {
		s.Printf("There are no tokens. Create one: fettle token create\n")
		return
	}
	rows := [][]string{}
	for _, t := range p.Tokens {
		is := "open"
		switch {
		case t.Revoked:
			is = "revoked"
		case t.Used >= t.Uses:
			is = "used up"
		case t.Expires <= s.App.Now().UnixNano():
			is = "expired"
		}
		rows = append(rows, []string{t.ID, is, fmt.Sprintf("%d/%d", t.Used, t.Uses), s.Moment(t.Expires), t.By, gives(t),
			t.Note})
	}
	s.Style().Table(s.App.Stdout, []string{"TOKEN", "STATE", "USED", "EXPIRES", "BY", "LABELS", "NOTE"}, rows)
}

func gives(t document.Token) string {
	if t.Hub {
		return "a hub"
	}
	return strings.Join(strings.Fields(t.Fleet+" "+t.Organization+" "+labelText(t.Labels)), " ")
}
