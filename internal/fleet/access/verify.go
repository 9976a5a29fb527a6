package access

import "fmt"

// Broken describes the first wrong place in an audit log.
type Broken struct {
	Index int    // of the record in the checked records, from 0
	Chain string // "" if unreadable
	Seq   uint64 // of the wrong or missing record
	What  string // "edited", "removed" or "reordered"
	Why   string
}

func (b *Broken) Error() string {
	return fmt.Sprintf("cannot trust the audit log: at position %d, record %d of the chain %q was %s: %s", b.Index+1,
		b.Seq, b.Chain, b.What, b.Why)
}

// Checker checks records one by one, in the order of the log. Chains of several hubs may be mixed.
// The zero value is ready.
type Checker struct {
	index int
	heads map[string]Head
}

// Next checks one record. Its error is a *Broken; the Checker must not be used after it. The last
// record of a chain may be repeated, because a hub without an answer writes it again.
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
	case r.Hash == h.Hash: // the same record again: its hash was verified
		return nil
	case r.Seq <= h.Seq:
		return &Broken{index, r.Chain, r.Seq, "reordered", fmt.Sprintf("it is after record %d", h.Seq)}
	case r.Seq > h.Seq+1:
		return &Broken{index, r.Chain, h.Seq + 1, "removed", fmt.Sprintf("record %[2]d follows record %[1]d", h.Seq, r.Seq)}
	case r.Prev != h.Hash:
		return &Broken{index, r.Chain, h.Seq, "edited", fmt.Sprintf("record %d was written after a different record", r.Seq)}
	}
	c.heads[r.Chain] = r.head()
	return nil
}

// Head returns the end of a chain after the checked records.
func (c *Checker) Head(chain string) Head {
	if h, ok := c.heads[chain]; ok {
		return h
	}
	return Head{Chain: chain}
}

// Verify checks a whole log against stored heads. Its error is a *Broken with the first record that
// was edited, removed or moved.
func Verify(records [][]byte, kept ...Head) error {
	var c Checker
	for i, raw := range records {
		if err := c.Next(raw); err != nil {
			return elsewhere(err, records[i:])
		}
		for _, k := range kept {
			if h := c.Head(k.Chain); h.Seq == k.Seq && h.Hash != k.Hash {
				return &Broken{i, k.Chain, k.Seq, "edited", "the stored head has another hash"}
			}
		}
	}
	for _, k := range kept {
		if h := c.Head(k.Chain); h.Seq < k.Seq {
			return &Broken{len(records), k.Chain, h.Seq + 1, "removed", fmt.Sprintf("the stored head is record %d", k.Seq)}
		}
	}
	return nil
}

// elsewhere corrects "removed" to "reordered" if the missing record is at a later position.
func elsewhere(err error, rest [][]byte) error {
	b, ok := err.(*Broken)
	if !ok || b.What != "removed" {
		return err
	}
	for _, raw := range rest {
		if r, err := ParseRecord(raw); err == nil && r.Chain == b.Chain && r.Seq == b.Seq {
			b.What, b.Why = "reordered", "it is at a later position"
		}
	}
	return b
}
