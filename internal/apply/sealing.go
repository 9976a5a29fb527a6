package apply

import (
	"strings"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// Sealed gives the paths whose content is sealed, with the IDs of the keys: those
// of the entries, and above them those of the lists.
func Sealed(lists []step.List, entries ...[]journal.Entry) map[string]string {
	out := map[string]string{}
	for _, some := range entries {
		for _, e := range some {
			if !strings.Contains(e.Step, " sealed=") {
				continue // reading every step would cost more than looking at its path
			}
			if l, _ := step.Parse("", []byte(e.Step)); len(l) == 1 && l[0].Verb == step.Copy {
				out[l[0].Path()] = l[0].Get("sealed")
			}
		}
	}
	for _, l := range lists {
		for _, s := range l {
			if key := s.Get("sealed"); s.Verb == step.Copy && key != "" {
				out[s.Path()] = key
			}
		}
	}
	return out
}

// sealer is a host.Veiled that can be told what to seal.
type sealer interface {
	host.Veiled
	Seal(paths map[string]string)
}

// seal has every path that holds a secret before, during or after the run read
// sealed, so that its before-image is kept sealed too.
func (r *run) seal(job Job) {
	if s, ok := r.Host.(sealer); ok {
		s.Seal(Sealed([]step.List{job.List}, job.Goal, job.Base.Entries))
	}
}

// wholeEither is whole for a path of whose two images one is sealed and the
// other is not, or with another key: what is there is compared as that which it
// is.
func (r *run) wholeEither(pm pathMove, look func(host.Reader, string) (capture.Taken, error)) (capture.Taken, error) {
	v, ok := r.Host.(host.Veiled)
	if !ok {
		return look(r.Host, pm.path)
	}
	now, err := look(v.Under(pm.path, pm.from.Sealed), pm.path)
	if err != nil || pm.from.Sealed == pm.to.Sealed || now.Type != image.Regular || now.File.Same(pm.from) {
		return now, err
	}
	return look(v.Under(pm.path, pm.to.Sealed), pm.path)
}

// masked is a text for people and records, without the secrets that are known.
func (r *Runner) masked(text string) string {
	if r.Mask == nil {
		return text
	}
	return r.Mask(text)
}
