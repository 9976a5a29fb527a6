package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// enlist adds this hub to the members of the fleet, or updates its entry. A hub that is not
// listed while others are listed was retired: the error contains [ErrRetired]. If the store
// lists no member, it is new or was lost, and the members that this hub knew are listed again.
//
// It reads the store and not the mirror: a mirror is filled from any copy of the store, and a
// copy may not have the latest writes. Another hub may write at the same time. Then enlist
// reads again. A read is not enough for a retirement, which is final: see absent.
func (h *Hub) registerMember(ctx context.Context) error {
	own, err := h.self()
	if err != nil {
		return err
	}
	var known []Member
	if h.peers != nil {
		known = h.peers.Members
	}
	for {
		err := enlist(ctx, h.members, own, known)
		switch {
		case errors.Is(err, ErrRetired) && h.peers == nil: // a hub alone was not retired
			return h.members.put(ctx, own.Name, own, 0)
		case errors.Is(err, ErrRetired):
			h.dismiss()
			return fmt.Errorf("cannot serve: %w", err)
		case !errors.Is(err, fleet.ErrConflict):
			return err
		case ctx.Err() != nil:
			return cmp.Or(ctx.Err(), err)
		}
	}
}

// enlist is one attempt of [Hub.enlist]. fleet.ErrConflict means that another hub was faster.
// The other members are read first: they are listed together with this hub, so that a hub that
// finds them, but not itself, was retired in between or before.
func enlist(ctx context.Context, members *mirror[Member], own Member, known []Member) error {
	lost := len(members.values()) == 0
	for _, m := range known {
		if m.Name == own.Name {
			continue
		}
		_, rev, err := storedMember(ctx, members, m.Name)
		if err != nil {
			return err
		}
		lost = lost && rev == 0
	}
	was, rev, err := storedMember(ctx, members, own.Name)
	switch {
	case err != nil:
		return err
	case rev != 0:
		own.Key, own.Joined, own.By = was.Key, was.Joined, was.By
		if same(was, own) {
			return nil
		}
		return members.put(ctx, own.Name, own, rev)
	case !lost:
		return cmp.Or(absent(ctx, members.store, members.prefix+own.Name), ErrRetired)
	}
	return listAll(ctx, members, own, known)
}

// storedMember reads an entry from the store. Its revision is 0 if it does not exist.
func storedMember(ctx context.Context, members *mirror[Member], name string) (m Member, rev uint64, err error) {
	e, err := members.store.Get(ctx, members.prefix+name)
	if errors.Is(err, fleet.ErrNotFound) {
		return m, 0, nil
	}
	if err == nil {
		m, err = members.parse(e.Value)
	}
	return m, e.Rev, err
}

// listAll lists this hub and the members that it knew, if none of them is listed. It writes all
// at once if the store can, so that no other hub sees a part and takes it for its retirement.
func listAll(ctx context.Context, members *mirror[Member], own Member, known []Member) error {
	others := slices.DeleteFunc(slices.Clone(known), func(m Member) bool { return m.Name == own.Name })
	var all []draft[Member]
	for _, m := range append(others, own) {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		all = append(all, draft[Member]{m.Name, m, text, 0})
	}
	if members.writeAll(ctx, all) == nil {
		return nil
	}
	for _, d := range all {
		if err := members.write(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func same(a, b Member) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
