package contents

import "fettle.dev/fettle/internal/fleet/content"

// New returns the contents of a store. Histories.Run must run.
func New(config Config) *Contents {
	c := &Contents{Config: config, changed: make(chan struct{}, 1)}
	c.Server = &content.Server{Store: c.Store, Authorize: c.mayRead}
	// Each hub reads histories from the repository itself, because agents connect to any hub.
	c.Histories = &content.Histories{
		Dir: c.Repository.Dir, Client: c.mayReadHistory, Now: c.Now, Warn: c.Warn, Read: c.History,
		Source: func() content.Source {
			r := c.Repository.Repository()
			return content.Source{Name: r.Name, URL: r.URL, Access: r.Access()}
		},
	}
	return c
}
