package stream

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeepalive: pings and the end come at exact times after the last frame.
func TestKeepalive(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		k          Keepalive
		frames     []time.Duration
		pings      []time.Duration
		lost, done time.Duration // 0: never
	}{
		"silent": {Keepalive{Every: 20 * s, Lost: 40 * s}, nil, []time.Duration{20 * s}, 40 * s, 0},
		"answered": {Keepalive{Every: 20 * s, Lost: 40 * s}, []time.Duration{21 * s},
			[]time.Duration{20 * s, 41 * s}, 61 * s, 0},
		"busy": {Keepalive{Every: 20 * s, Lost: 40 * s}, []time.Duration{15 * s, 30 * s}, nil, 0, 31 * s},
		"always": {Keepalive{Every: 10 * s, Lost: 25 * s, Always: true}, []time.Duration{7 * s},
			[]time.Duration{10 * s, 20 * s, 30 * s}, 32 * s, 0},
		"ends by itself": {Keepalive{Every: 10 * s, Lost: 25 * s}, nil, nil, 0, 5 * s},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, begin, done := NewHeard(), time.Now(), make(chan struct{})
			for _, at := range c.frames {
				time.AfterFunc(at, h.Now)
			}
			if c.done > 0 {
				time.AfterFunc(c.done, func() { close(done) })
			}
			var pings []time.Duration
			var lost time.Duration
			c.k.Run(done, h, func() { pings = append(pings, time.Since(begin)) }, func() { lost = time.Since(begin) })
			if !slices.Equal(pings, c.pings) || lost != c.lost {
				t.Errorf("%s: pings %v, lost after %v", name, pings, lost)
			}
		})
	}
}
