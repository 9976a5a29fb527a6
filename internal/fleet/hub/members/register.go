package members

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Register adds this hub to the members of the fleet, or updates its record. If this hub is
// not listed and other hubs are, it was retired: the error wraps [ErrRetired]. If the store lists
// no member, it is new or was lost, and this hub lists all hubs of its peer cache again.
//
// It reads the store instead of the mirror: a mirror is filled from any copy of the store, and a
// copy may not have the latest writes. If another hub writes at the same time, Register reads
// again. A retirement is final, so a read alone does not prove it: see absent.
func (h *HubSet) Register(ctx context.Context) error {
	own, err := h.self()
	if err != nil {
		return err
	}
	var known []records.Member
	if h.peers != nil {
		known = h.peers.Members
	}
	for {
		err := enlist(ctx, h.Records.Members, own, known)
		switch {
		case errors.Is(err, ErrRetired) && h.peers == nil: // a hub that is alone cannot be retired
			return h.Records.Members.Put(ctx, own.Name, own, 0)
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

// enlist is one attempt of [HubSet.Register]. fleet.ErrConflict means that another hub was
// faster. The other members are read first. They are listed together with this hub, so if they
// exist and this hub does not, it was retired.
func enlist(ctx context.Context, members *records.Mirror[records.Member], own records.Member,
	known []records.Member) error {
	lost := len(members.Values()) == 0
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
		return members.Put(ctx, own.Name, own, rev)
	case !lost:
		return cmp.Or(members.Absent(ctx, own.Name), ErrRetired)
	}
	return listAll(ctx, members, own, known)
}

// storedMember reads a record from the store. The revision is 0 if it does not exist.
func storedMember(ctx context.Context, members *records.Mirror[records.Member], name string) (m records.Member,
	rev uint64, err error) {
	e, err := members.Entry(ctx, name)
	if errors.Is(err, fleet.ErrNotFound) {
		return m, 0, nil
	}
	if err == nil {
		m, err = members.Parse(e.Value)
	}
	return m, e.Rev, err
}

// listAll lists this hub and its known members, if none of them is listed. If possible it writes
// all in one batch: a hub that sees only a part would conclude that it was retired.
func listAll(ctx context.Context, members *records.Mirror[records.Member], own records.Member,
	known []records.Member) error {
	others := slices.DeleteFunc(slices.Clone(known), func(m records.Member) bool { return m.Name == own.Name })
	var all []records.Draft[records.Member]
	for _, m := range append(others, own) {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		all = append(all, records.Draft[records.Member]{Key: m.Name, Value: m, Text: text, Rev: 0})
	}
	if members.WriteAll(ctx, all) == nil {
		return nil
	}
	for _, d := range all {
		if err := members.Write(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func same(a, b records.Member) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
