package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// rows are the lines of a work's table, by hosts and then as the tools were told.
func (b *bench) rows(w work) [][]string {
	var out [][]string
	for _, n := range b.numbers() {
		for _, t := range b.tools {
			c := cell{w, t.name, n}
			switch {
			case b.broken[c] != "":
				out = append(out, []string{fmt.Sprint(n), t.name, "—", "", "", "", "", "", ""})
			case len(b.results[c]) > 0:
				out = append(out, b.row(c))
			}
		}
	}
	return out
}

// numbers are those of hosts that anything was measured with.
func (b *bench) numbers() []int {
	all := append([]int{farHosts}, b.settings.hosts...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (b *bench) row(c cell) []string {
	all := b.results[c]
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }
	wall := func(s sample) time.Duration { return s.wall }
	byWall := func(a, b sample) int { return cmp.Compare(a.wall, b.wall) }
	mark, turns := "", ""
	if len(all) < 2 {
		mark = "†"
	}
	if c.work.isFar() {
		turns = fmt.Sprint(medianOf(all, func(s sample) int64 { return s.turns }) / int64(c.n))
	}
	return []string{
		fmt.Sprint(c.n), c.tool, seconds(medianOf(all, wall)) + mark,
		seconds(slices.MinFunc(all, byWall).wall) + "–" + seconds(slices.MaxFunc(all, byWall).wall),
		seconds(medianOf(all, func(s sample) time.Duration { return s.here })),
		seconds(medianOf(all, func(s sample) time.Duration { return s.there })),
		b.ratio(c, limitName), b.ratio(c, ansibleName), turns,
	}
}

// ratio is that of the wall times to those of another tool in the same rounds; "" for
// unknown.
func (b *bench) ratio(c cell, other string) string {
	var of []float64
	for _, s := range b.results[c] {
		for _, o := range b.results[cell{c.work, other, c.n}] {
			if o.round == s.round {
				of = append(of, float64(s.wall)/float64(o.wall))
			}
		}
	}
	if len(of) == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", median(of))
}

func medianOf[T cmp.Ordered](all []sample, of func(sample) T) T {
	var values []T
	for _, s := range all {
		values = append(values, of(s))
	}
	return median(values)
}

// median is the middle one, the lower of two.
func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// table is rows in Markdown.
func table(rows [][]string) string {
	var t strings.Builder
	t.WriteString("| hosts | tool | wall s | min–max | CPU here s | CPU there s | × limit | × ansible | round trips per host |\n|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows {
		t.WriteString("| " + strings.Join(r, " | ") + " |\n")
	}
	return t.String()
}
