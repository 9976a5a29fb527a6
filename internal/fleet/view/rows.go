package view

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// row is what stands of one module of a target.
type row struct {
	commit, bundle, state, since int64
	waits, failure               string
}

// one is the version that it has.
func (r row) one() one { return one{r.commit, r.bundle} }

// What is told of a module after its number: what it has that the one before has not. Most
// came with one run, of one commit.
const (
	otherCommit = 1 << iota
	otherState
	otherSince
	hasWaits
	hasFailure
)

// packRows makes one value of the modules of a target: for each, in the order of their
// numbers, how far its number is from the one before, what it has that the one before has
// not, how far its bundle is, and then what it has. Some 4 bytes for each are usual.
func packRows(rows map[int64]row) []byte {
	out := make([]byte, 0, 8*len(rows))
	var before int64
	var last row
	number := func(has bool, n int64) {
		if has {
			out = binary.AppendVarint(out, n)
		}
	}
	text := func(s string) {
		if s != "" {
			out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
		}
	}
	for _, module := range slices.Sorted(maps.Keys(rows)) {
		r := rows[module]
		number(true, module-before)
		out = append(out, r.beside(last))
		number(true, r.bundle-last.bundle)
		number(r.commit != last.commit, r.commit-last.commit)
		number(r.state != last.state, r.state-last.state)
		number(r.since != last.since, r.since-last.since)
		text(r.waits)
		text(r.failure)
		before, last = module, r
	}
	return out
}

// beside tells what a row has that the one before has not.
func (r row) beside(last row) (has byte) {
	if r.commit != last.commit {
		has |= otherCommit
	}
	if r.state != last.state {
		has |= otherState
	}
	if r.since != last.since {
		has |= otherSince
	}
	if r.waits != "" {
		has |= hasWaits
	}
	if r.failure != "" {
		has |= hasFailure
	}
	return has
}

var errRows = errors.New("what stands of the modules of a target is not what was written")

// packed is read from its beginning. After the first mistake all is zero.
type packed struct {
	b   []byte
	err error
}

func (p *packed) number(has bool) int64 {
	if !has {
		return 0
	}
	n, size := binary.Varint(p.b)
	if size <= 0 {
		p.b, p.err = nil, errRows
		return 0
	}
	p.b = p.b[size:]
	return n
}

func (p *packed) text(has bool) string {
	if !has {
		return ""
	}
	n, size := binary.Uvarint(p.b)
	if size <= 0 || n > uint64(len(p.b)-size) {
		p.b, p.err = nil, errRows
		return ""
	}
	end := size + int(n)
	s := string(p.b[size:end])
	p.b = p.b[end:]
	return s
}

func (p *packed) mark() byte {
	if len(p.b) == 0 {
		p.err = errRows
		return 0
	}
	b := p.b[0]
	p.b = p.b[1:]
	return b
}

// unpackRows reads what packRows wrote into a map, which is emptied before.
func unpackRows(b []byte, into map[int64]row) error {
	clear(into)
	p := packed{b: b}
	var module int64
	var r row
	for len(p.b) > 0 {
		module += p.number(true)
		has := p.mark()
		r.bundle += p.number(true)
		r.commit += p.number(has&otherCommit != 0)
		r.state += p.number(has&otherState != 0)
		r.since += p.number(has&otherSince != 0)
		r.waits, r.failure = p.text(has&hasWaits != 0), p.text(has&hasFailure != 0)
		into[module] = r
	}
	return damaged(p.err)
}
