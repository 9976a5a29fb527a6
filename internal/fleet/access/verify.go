package access

import "fmt"

// Broken is the first place where an audit log is not as it was written.
type Broken struct {
	Index int    // of the record among those that were checked, from 0
	Chain string // "" where that cannot be read
	Seq   uint64 // of the record that is wrong, or missing
	What  string // "edited", "removed" or "reordered"
	Why   string
}

func (b *Broken) Error() string {
	return fmt.Sprintf("cannot believe the audit log: place %d, record %d of the chain %q, was %s: %s", b.Index+1, b.Seq, b.Chain, b.What, b.Why)
}

// Checker checks records as they come, in the order of the log. Chains of several hubs
// may be mixed. The zero value is ready.
type Checker struct {
	index int
	heads map[string]Head
}

// Next checks one more record. The error is a *Broken; after it nothing else that the
// checker says counts. The last record of a chain may come twice: a hub that had no
// answer writes it again.
func (c *Checker) Next(raw []byte) error {
	if c.heads == nil {
		c.heads = map[string]Head{}
	}
	index := c.index
	c.index++
	r, err := ParseRecord(raw)
	if err != nil {
		return &Broken{index, r.Chain, r.Seq, "edited", err.Error()}
	}
	h := c.heads[r.Chain]
	switch {
	case r.Seq == h.Seq && r.Hash == h.Hash && h.Seq != 0:
		return nil
	case r.Seq <= h.Seq:
		return &Broken{index, r.Chain, r.Seq, "reordered", fmt.Sprintf("it stands behind record %d", h.Seq)}
	case r.Seq > h.Seq+1:
		return &Broken{index, r.Chain, h.Seq + 1, "removed", fmt.Sprintf("behind record %d stands record %d", h.Seq, r.Seq)}
	case r.Prev != h.Hash:
		return &Broken{index, r.Chain, h.Seq, "edited", fmt.Sprintf("record %d was written behind another one", r.Seq)}
	}
	c.heads[r.Chain] = r.head()
	return nil
}

// Head is how far a chain goes, as far as it was checked.
func (c *Checker) Head(chain string) Head {
	if h, ok := c.heads[chain]; ok {
		return h
	}
	return Head{Chain: chain}
}

// Verify checks a whole log against heads that somebody kept. The error is a *Broken that
// names the first record that was edited, removed or reordered.
func Verify(records [][]byte, kept ...Head) error {
	var c Checker
	for i, raw := range records {
		if err := c.Next(raw); err != nil {
			return elsewhere(err, records[i:])
		}
		for _, k := range kept {
			if h := c.Head(k.Chain); h.Seq == k.Seq && h.Hash != k.Hash {
				return &Broken{i, k.Chain, k.Seq, "edited", "the head that was kept is another"}
			}
		}
	}
	for _, k := range kept {
		if h := c.Head(k.Chain); h.Seq < k.Seq {
			return &Broken{len(records), k.Chain, h.Seq + 1, "removed", fmt.Sprintf("the chain went on to record %d", k.Seq)}
		}
	}
	return nil
}

// elsewhere tells what is missing from what only stands in another place.
func elsewhere(err error, rest [][]byte) error {
	b, ok := err.(*Broken)
	if !ok || b.What != "removed" {
		return err
	}
	for _, raw := range rest {
		if r, err := ParseRecord(raw); err == nil && r.Chain == b.Chain && r.Seq == b.Seq {
			b.What, b.Why = "reordered", "it stands further behind"
		}
	}
	return b
}
