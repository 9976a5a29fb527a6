package histories

import "slices"

// shrink takes lines from a case as long as the same rule is broken.
func shrink(k kit, c Case, v *verdict, noise string) (Case, *verdict, string) {
	try := func(smaller Case) bool {
		w, n := play(k, smaller, map[string]int{})
		if w == nil || w.rule != v.rule {
			return false
		}
		c, v, noise = smaller, w, n
		return true
	}
	if v.op < len(c.Ops) {
		smaller := c
		smaller.Ops = c.Ops[:v.op+1]
		try(smaller)
	}
	for again := true; again; {
		again = false
		for get := range parts(c) {
			for i := len(*part(&c, get)) - 1; i >= 0; i-- {
				smaller := c
				smaller.Lists = slices.Clone(c.Lists)
				lines := part(&smaller, get)
				if i >= len(*lines) {
					continue
				}
				*lines = slices.Delete(slices.Clone(*lines), i, i+1)
				again = try(smaller) || again
			}
		}
	}
	return c, v, noise
}

// parts is how many parts a case has: operations, host, and each list.
func parts(c Case) int { return 2 + len(c.Lists) }

func part(c *Case, i int) *[]string {
	switch i {
	case 0:
		return &c.Ops
	case 1:
		return &c.Host
	}
	return &c.Lists[i-2]
}
