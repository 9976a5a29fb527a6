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

// registerMember adds this hub to the members of the fleet, or updates its record. If this hub is
// not listed and other hubs are, it was retired: the error wraps [ErrRetired]. If the store lists
// no member, it is new or was lost, and this hub lists all hubs of its peer cache again.
//
// It reads the store instead of the mirror: a mirror is filled from any copy of the store, and a
// copy may not have the latest writes. If another hub writes at the same time, registerMember reads
// again. A retirement is final, so a read alone does not prove it: see absent.
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
		case errors.Is(err, ErrRetired) && h.peers == nil: // a hub that is alone cannot be retired
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

// enlist is one attempt of [Hub.registerMember]. fleet.ErrConflict means that another hub was
// faster. The other members are read first. They are listed together with this hub, so if they
// exist and this hub does not, it was retired.
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

// storedMember reads a record from the store. The revision is 0 if it does not exist.
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

// listAll lists this hub and its known members, if none of them is listed. If possible it writes
// all in one batch: a hub that sees only a part would conclude that it was retired.
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
