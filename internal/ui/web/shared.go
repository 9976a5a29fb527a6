package web

import (
	"strings"
	"sync"
	"time"
)

// sharedPages contains the main parts of pages that were read a moment ago. Many open pages then cost as much as
// one: a page is rendered again at the earliest after restFactor times the duration of its last rendering.
type sharedPages struct {
	mu  sync.Mutex
	all map[string]*sharedPage // by user, address and rights
}

// sharedPage is one page. Its lock is held while the page is rendered.
type sharedPage struct {
	mu   sync.Mutex
	text []byte
	read time.Time
	rest time.Duration
}

const (
	restFactor = 20
	mostShared = 512
)

func newSharedPages() *sharedPages { return &sharedPages{all: map[string]*sharedPage{}} }

// read returns the main part of a page, and the time for which it counts as new. make renders it.
func (p *sharedPages) read(key string, make func() ([]byte, error)) ([]byte, time.Duration, error) {
	e := p.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	began := time.Now() // the clock of this machine: the clock of the pages can jump
	if e.text != nil && began.Sub(e.read) < e.rest {
		return e.text, e.rest, nil
	}
	text, err := make()
	if err != nil {
		return nil, 0, err
	}
	e.text, e.read, e.rest = text, began, min(restFactor*time.Since(began), time.Minute)
	return e.text, e.rest, nil
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

// shareKey identifies the visits that share a rendering.
func shareKey(v *visit) string {
	return strings.Join(append([]string{v.user.Name, v.URL.RequestURI()}, v.user.Rights...), " ")
}
