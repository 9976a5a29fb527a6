package mem

import (
	"maps"
	"math/rand/v2"
	"slices"

	"fettle.dev/fettle/internal/image"
)

// entryChange makes a name be an inode, or nothing.
type entryChange struct {
	spot
	to *inode
}

// entryOp is one operation on entries. It becomes durable as a whole: a
// rename is both of its changes or neither.
type entryOp struct{ changes []entryChange }

// spots is a set of names. An operation on one of them cannot be durable
// without an earlier operation on it.
type spots map[spot]bool

func (s spots) add(o *entryOp) {
	for _, c := range o.changes {
		s[c.spot] = true
	}
}

func (s spots) touch(o *entryOp) bool {
	return slices.ContainsFunc(o.changes, func(c entryChange) bool { return s[c.spot] })
}

func (o *entryOp) in(dir *inode) bool {
	return slices.ContainsFunc(o.changes, func(c entryChange) bool { return c.dir == dir })
}

// change makes an operation visible, and leaves it to a sync to make it
// durable. The caller holds the lock.
func (d *disk) change(changes ...entryChange) {
	at := d.now()
	for _, c := range changes {
		put(c.dir.entries, c)
		c.dir.mtime, c.dir.ctime = at, at
	}
	d.log = append(d.log, &entryOp{changes})
}

func put(entries map[string]*inode, c entryChange) {
	if c.to == nil {
		delete(entries, c.name)
	} else {
		entries[c.name] = c.to
	}
}

// settle makes the entries of one directory durable, with all that they
// depend on.
func (d *disk) settle(dir *inode) {
	wanted, needed := map[*entryOp]bool{}, spots{}
	for _, op := range slices.Backward(d.log) {
		if op.in(dir) || needed.touch(op) {
			wanted[op] = true
			needed.add(op)
		}
	}
	var rest []*entryOp
	for _, op := range d.log {
		if !wanted[op] {
			rest = append(rest, op)
			continue
		}
		for _, c := range op.changes {
			put(c.dir.durable, c)
		}
	}
	d.log = rest
}

// settleAll makes everything durable.
func (d *disk) settleAll() {
	for _, op := range d.log {
		for _, c := range op.changes {
			put(c.dir.durable, c)
		}
	}
	d.log = nil
	d.each(func(n *inode) {
		n.content.sync()
		n.stable = n.meta
	})
}

// loseAll is a sync of everything that failed.
func (d *disk) loseAll() { d.each(func(n *inode) { n.content.lose() }) }

// each visits every inode that has a name, once.
func (d *disk) each(do func(*inode)) {
	seen := map[*inode]bool{}
	var visit func(n *inode)
	visit = func(n *inode) {
		if seen[n] {
			return
		}
		seen[n] = true
		do(n)
		for _, child := range n.entries {
			visit(child)
		}
	}
	visit(d.root)
}

// CrashClone returns the file system after a power cut at this moment, as a separate file system
// whose content is all durable. Synced data is kept. Unsynced data is kept or lost at random. A
// file's content is old, new, a prefix or zeroes; its metadata is old or new. Each operation on
// entries happened or not, a rename as a whole, and none without earlier operations on the same
// name. The same state and the same rng give the same result.
func (f *FS) CrashClone(rng *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := cloner{rng: rng, made: map[*inode]*inode{}, entries: map[*inode]map[string]*inode{}}
	c.decide(f.log)
	d := &disk{now: f.now, next: f.next}
	d.root = c.clone(f.root, nil)
	d.root.parent = d.root
	return &FS{disk: d}
}

type cloner struct {
	rng     *rand.Rand
	made    map[*inode]*inode
	entries map[*inode]map[string]*inode // directories that an operation of the log changed
}

// decide throws the dice for each operation.
func (c *cloner) decide(log []*entryOp) {
	lost := spots{}
	for _, op := range log {
		if c.rng.IntN(2) == 0 || lost.touch(op) {
			lost.add(op)
			continue
		}
		for _, ch := range op.changes {
			if c.entries[ch.dir] == nil {
				c.entries[ch.dir] = maps.Clone(ch.dir.durable)
			}
			put(c.entries[ch.dir], ch)
		}
	}
}

// clone copies an inode and everything below it, in order of names so that the result is
// reproducible.
func (c *cloner) clone(n, parent *inode) *inode {
	if made := c.made[n]; made != nil {
		made.nlink++
		return made
	}
	out := &inode{meta: n.stable, num: n.num, typ: n.typ, target: n.target, rdev: n.rdev, nlink: 1, mount: n.mount,
		parent: parent}
	c.made[n] = out
	if !sameMeta(n.meta, n.stable) && c.rng.IntN(2) == 0 {
		out.meta = n.meta
	}
	out.stable = out.meta
	switch n.typ {
	case image.Regular:
		out.data = n.crashed(c.rng)
		out.content.sync()
	case image.Directory:
		c.cloneEntries(n, out)
	}
	return out
}

func (c *cloner) cloneEntries(n, out *inode) {
	entries := c.entries[n]
	if entries == nil {
		entries = n.durable
	}
	out.entries = map[string]*inode{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if child := entries[name]; child.typ != image.Directory || c.made[child] == nil {
			out.entries[name] = c.clone(child, out)
		}
	}
	out.durable = maps.Clone(out.entries)
}

func sameMeta(a, b meta) bool {
	return a.mode == b.mode && a.uid == b.uid && a.gid == b.gid && a.attrs == b.attrs &&
		a.atime == b.atime && a.mtime == b.mtime && maps.EqualFunc(a.xattrs, b.xattrs, slices.Equal)
}
