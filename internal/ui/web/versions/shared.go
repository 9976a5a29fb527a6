// Package versions sends the versions of a page to all browsers that show it. Each is rendered and compressed once.
//
//	shared := versions.NewShared()
//	version, rest, err := shared.Read(key, render)
//	err = versions.NewStream(connection, true).Send(version)
package versions

import (
	"sync"
	"time"
)

// Shared contains the main parts of pages that were read a moment ago. Many open pages then cost little: equal
// pages of users with the same rights are rendered and compressed once.
//
// A page is rendered again at the earliest after restFactor times the duration of its last rendering. It also waits for
// allFactor times the duration of the last renderings of all open pages, but at most for mostShort. So a few hundred
// open pages together use about one CPU divided by allFactor.
type Shared struct {
	mu  sync.Mutex
	all map[string]*sharedPage // by address and rights
	// slots limits the renderings at the same time, and has the buffers to compress a page. Otherwise each one takes
	// longer if many begin together, and pages would rest for too long.
	slots chan *packer
}

// sharedPage is one page. Its lock is held while the page is rendered.
type sharedPage struct {
	mu      sync.Mutex
	version Version // without packed data: none
	rest    time.Duration

	// The duration and the time of the last rendering. The lock of the Shared protects them.
	took time.Duration
	used time.Time
}

const (
	restFactor = 20
	allFactor  = 20
	mostShared = 512
	mostRest   = time.Minute
	mostShort  = 20 * time.Second
	atOnce     = 2
)

// NewShared returns a Shared without pages.
func NewShared() *Shared {
	p := &Shared{all: map[string]*sharedPage{}, slots: make(chan *packer, atOnce)}
	for range atOnce {
		p.slots <- &packer{}
	}
	return p
}

// Read returns the main part of a page, and the time for which it still counts as new. render renders it.
func (p *Shared) Read(key string, render func() ([]byte, error)) (Version, time.Duration, error) {
	e := p.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	// The clock of this machine: the clock of the pages can jump.
	if left := e.rest - time.Since(e.version.read); e.version.packed != nil && left > 0 {
		return e.version, left, nil
	}
	slot := <-p.slots
	defer func() { p.slots <- slot }()
	began := time.Now()
	text, err := render()
	if err != nil {
		return Version{}, 0, err
	}
	if e.version, err = slot.version(text, began); err != nil {
		return Version{}, 0, err
	}
	took := time.Since(began)
	e.rest = max(min(restFactor*took, mostRest), min(allFactor*p.cost(e, took), mostShort))
	return e.version, e.rest, nil
}

// cost records the duration of a rendering, and returns the sum for all pages that are open. It discards other pages.
func (p *Shared) cost(e *sharedPage, took time.Duration) (sum time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	e.took, e.used = took, now
	for key, each := range p.all {
		if !each.used.IsZero() && now.Sub(each.used) > 2*mostRest {
			delete(p.all, key)
			continue
		}
		sum += each.took
	}
	return sum
}

// Forget discards the rendering of a page. A user who loads a page must not see an older one afterwards.
func (p *Shared) Forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, key)
}

func (p *Shared) entry(key string) *sharedPage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.all[key]; e != nil {
		return e
	}
	if len(p.all) >= mostShared {
		clear(p.all)
	}
	e := &sharedPage{}
	p.all[key] = e
	return e
}
