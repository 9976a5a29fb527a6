package apply

import (
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/secret"
	"fettle.dev/fettle/internal/step"
)

// Sealed returns the paths and account addresses with encrypted content, each with the ID of its key.
// Keys in entries have priority over keys in lists.
func Sealed(lists []step.List, entries ...[]journal.Entry) map[string]string {
	out := map[string]string{}
	for _, some := range entries {
		for _, e := range some {
			sealedBefore(out, e)
			sealedBy(out, e.Step)
		}
	}
	for _, l := range lists {
		for _, s := range l {
			sealedBy(out, s)
		}
	}
	return out
}

// sealedBefore adds a file or account that gets a secret back when the entry is undone.
func sealedBefore(out map[string]string, e journal.Entry) {
	switch {
	case e.Origin == nil:
	case e.Origin.Region() != nil && len(e.Origin.Region().Encrypted) > 0:
		ref, _ := secret.ParseRef(e.Origin.Region().Text)
		out[e.Addr.Path()] = ref.Key
	case e.Origin.User() != nil:
		if ref, is := secret.ParseRef(e.Origin.User().Password); is {
			out[string(e.Addr)] = ref.Key
		}
	}
}

func sealedBy(out map[string]string, s step.Step) {
	key := ""
	switch ref, ok := s.Secret(); {
	case ok:
		key = ref.Key
	case s.Verb == step.Copy:
		key = s.Get("sealed")
	}
	switch {
	case key == "":
	case s.Verb == step.User:
		out[string(s.Addr())] = key
	default:
		out[s.Path()] = key
	}
}

// sealer is a host.Veiled that encrypts the content of given paths and accounts.
type sealer interface {
	host.Veiled
	Seal(paths map[string]string)
}

// seal configures the host to encrypt captured content of each path and account that contains a secret
// before, during or after the run. The stored before-images are then encrypted too.
func (r *run) seal(in Input) {
	if s, ok := r.Host.(sealer); ok {
		s.Seal(Sealed([]step.List{in.List}, in.Goal, in.Base.Entries))
	}
}
