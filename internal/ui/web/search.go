package web

import (
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// searchPage finds targets by name, identity or label, modules, the states that modules declare, commits, rollouts and
// runs.
func searchPage(v *visit) (*page, error) {
	at := route.SearchQuery{Text: strings.TrimSpace(v.URL.Query().Get("q"))}
	p := &page{Title: "Search", Template: "search", Data: document.Search{}}
	if at.Text == "" {
		return p, nil
	}
	d, err := get(v, route.Search(), at)
	if err != nil {
		return nil, err
	}
	words := []string{"fettle", "fleet", "search", at.Text}
	if strings.HasPrefix(at.Text, "-") {
		words = []string{"fettle", "fleet", "search", "--", at.Text}
	}
	p.Data, p.Command, p.Address = d, commandOf(words...), address(route.Search(), at)
	return p, nil
}
