package waves

import (
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/window"
)

// showClosed shows that a target waits for its windows. The same reason of other targets is shown once.
func (p *performed) showClosed(m *cli.Member, zone string) {
	set, err := window.Compile(m.Entry.Windows, zone)
	why := set.At(p.cr.Session.App.Now()).Why
	if err != nil {
		why = err.Error()
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if why == "" || p.closed[why] || p.cr.Session.JSON {
		return
	}
	p.closed[why] = true
	p.cr.Session.Printf("%s, and targets with the same windows, wait: %s\n", m.Entry.Name, why)
}
