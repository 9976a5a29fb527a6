package cli

import (
	"errors"

	"fettle.dev/fettle/internal/host"
)

// openCache opens the state directory of the machine. A user who cannot open it and works on other
// machines has a cache directory of their own, so that read-only commands leave nothing behind.
func (s *Session) openCache() (host.FS, func() error, error) {
	if s.cache != nil {
		return s.cache, func() error { return nil }, nil
	}
	m, err := s.Machine()
	if err != nil || s.App.Beside == nil {
		return nil, nil, errNoCache
	}
	if FileExists(m.State) {
		if dir, done, err := s.App.Beside(m); err == nil {
			return dir, done, nil
		}
	}
	if s.App.OwnCache == nil || len(s.Words) == 0 && s.ConnectOpts.SSH == "" {
		return nil, nil, errNoCache
	}
	if m.State, err = s.App.OwnCache(); err != nil {
		return nil, nil, err
	}
	return s.App.Beside(m)
}

// keptLists is the largest number of targets whose lists are cached. With two files each, they use
// less than half of the cache.
const keptLists = 200

// openCache opens the cache for the lists of so many targets.
func (cr *TargetSet) openCache(targets int) {
	if targets > keptLists || !cr.Source.Committed() {
		return
	}
	if dir, done, err := cr.Session.openCache(); err == nil {
		cr.cache, cr.uncache = dir, done
	}
}

var errNoCache = errors.New("there is no cache")
