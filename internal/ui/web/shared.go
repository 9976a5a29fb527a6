package web

import (
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
)

// sharedPages contains the main parts of pages that were read a moment ago. Many open pages then cost little: equal
// pages of users with the same rights are rendered once.
//
// A page is rendered again at the earliest after restFactor times the duration of its last rendering. It also waits for
// allFactor times the duration of the last renderings of all open pages, but at most for mostShort. So a few hundred
// open pages together use about one CPU divided by allFactor.
type sharedPages struct {
	mu  sync.Mutex
	all map[string]*sharedPage // by address and rights
	// slots limits the renderings at the same time. Otherwise each one takes longer if many begin together, and pages
	// would rest for too long.
	slots chan struct{}
}

// sharedPage is one page. Its lock is held while the page is rendered.
type sharedPage struct {
	mu   sync.Mutex
	text []byte
	read time.Time
	rest time.Duration

	// The duration and the time of the last rendering. The lock of the sharedPages protects them.
	took time.Duration
	used time.Time
}

const (
	restFactor = 20
	allFactor  = 12
	mostShared = 512
	mostRest   = time.Minute
	mostShort  = 15 * time.Second
	atOnce     = 2
)

func newSharedPages() *sharedPages {
	return &sharedPages{all: map[string]*sharedPage{}, slots: make(chan struct{}, atOnce)}
}

// read returns the main part of a page, and the time for which it still counts as new. render renders it.
func (p *sharedPages) read(key string, render func() ([]byte, error)) ([]byte, time.Duration, error) {
	e := p.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	// The clock of this machine: the clock of the pages can jump.
	if left := e.rest - time.Since(e.read); e.text != nil && left > 0 {
		return e.text, left, nil
	}
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	began := time.Now()
	text, err := render()
	if err != nil {
		return nil, 0, err
	}
	took := time.Since(began)
	e.text, e.read = text, began
	e.rest = max(min(restFactor*took, mostRest), min(allFactor*p.cost(e, took), mostShort))
	return e.text, e.rest, nil
}

// cost records the duration of a rendering, and returns the sum for all pages that are open. It discards other pages.
func (p *sharedPages) cost(e *sharedPage, took time.Duration) (sum time.Duration) {
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

// forget discards the rendering of a page. A user who loads a page must not see an older one afterwards.
func (p *sharedPages) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, key)
}

func (p *sharedPages) entry(key string) *sharedPage {
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

// shareKey identifies visits that share a rendering: the users have the same rights. The main part of a page
// depends on the name of a user only if the user can approve.
func shareKey(v *visit) string {
	name := ""
	if v.May(access.Approve) {
		name = v.user.Name
	}
	return strings.Join(append([]string{name, v.URL.RequestURI()}, slices.Sorted(slices.Values(v.user.Rights))...), " ")
}
