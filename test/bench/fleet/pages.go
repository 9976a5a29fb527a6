package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// pagesPerUser is the number of open pages of each user.
const pagesPerUser = 10

// viewers are open pages of several users. Each page is a stream, as in a browser.
type viewers struct {
	close    context.CancelFunc
	streams  sync.WaitGroup
	open     atomic.Int64 // streams that the hub accepted
	versions atomic.Int64 // of all pages
	looks    atomic.Int64 // of streams at their pages, also without a new version
	ended    atomic.Int64 // streams that the hub did not accept, or ended
}

// follow reads the versions of a page until the context ends.
func (v *viewers) follow(ctx context.Context, hub, address, secret string) {
	defer func() {
		if ctx.Err() == nil {
			v.ended.Add(1)
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, hub+"/live?at="+url.QueryEscape(address), nil)
	if err != nil {
		return
	}
	r.AddCookie(&http.Cookie{Name: "__Host-fettle", Value: secret})
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := c.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return
	}
	in := bufio.NewScanner(answer.Body)
	in.Buffer(nil, 16<<20)
	for first := true; in.Scan(); {
		switch {
		case strings.HasPrefix(in.Text(), ":"), strings.HasPrefix(in.Text(), "event: read"):
			v.looks.Add(1)
		case strings.HasPrefix(in.Text(), "event: page"):
			if v.versions.Add(1); first {
				v.open.Add(1)
				first = false
			}
		}
	}
}

// end closes all pages.
func (v *viewers) end() {
	v.close()
	v.streams.Wait()
}
