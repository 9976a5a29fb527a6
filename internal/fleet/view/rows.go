package view

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// row is the reported state of one module of a target.
type row struct {
	commit, bundle, state, since int64
	waits, failure               string
}

// one returns the applied version.
func (r row) one() one { return one{r.commit, r.bundle} }

// Flags of a packed module: fields that differ from the module before it. Most modules were applied
// in one run from one commit.
const (
	otherCommit = 1 << iota
	otherState
	otherSince
	hasWaits
	hasFailure
)

// packRows encodes the modules of a target in the order of their numbers. A module has the
// difference of its number to the previous one, its flags, the difference of its bundle, and the
// fields in the flags. Usually this takes about 4 bytes per module.
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

// beside returns the flags of a row after another row.
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

var errRows = errors.New("the stored states of the modules of a target cannot be decoded")

// packed is a decoder. After the first error it returns zero values.
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

// unpackRows decodes the output of packRows into a map, which it clears first.
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
