package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// figure is what is shown of one cell.
type figure struct {
	wall, cpu time.Duration
	low, high time.Duration // of the wall times
	rss       int64
	toLimit   float64 // of the wall times, within each round; 0 is unknown
	toFettle  float64
	rounds    int
}

// figureOf gives the medians of a cell; false when it has none.
func (b *bench) figureOf(c cell) (figure, bool) {
	all := b.results[c]
	if len(all) == 0 || b.broken[c] != "" {
		return figure{}, false
	}
	byWall := func(a, b sample) int { return cmp.Compare(a.wall, b.wall) }
	return figure{
		low:      slices.MinFunc(all, byWall).wall,
		high:     slices.MaxFunc(all, byWall).wall,
		wall:     medianOf(all, func(s sample) time.Duration { return s.wall }),
		cpu:      medianOf(all, func(s sample) time.Duration { return s.cpu }),
		rss:      medianOf(all, func(s sample) int64 { return s.rss }),
		toLimit:  b.ratio(c, "limit"),
		toFettle: b.ratio(c, baseline),
		rounds:   len(all),
	}, true
}

// ratio compares with another tool round by round.
func (b *bench) ratio(c cell, other string) float64 {
	var of []float64
	for _, s := range b.results[c] {
		for _, o := range b.results[cell{c.work, other, c.n}] {
			if o.round == s.round {
				of = append(of, float64(s.wall)/float64(o.wall))
			}
		}
	}
	return median(of)
}

func medianOf[T cmp.Ordered](all []sample, of func(sample) T) T {
	var values []T
	for _, s := range all {
		values = append(values, of(s))
	}
	return median(values)
}

// median is the middle value, the lower one of two.
func median[T cmp.Ordered](values []T) T {
	var none T
	if len(values) == 0 {
		return none
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

// layout is how a table is written.
type layout int

const (
	plain layout = iota
	markdown
)

// table is everything that was measured, a row a cell.
func (b *bench) table(l layout) string {
	rows := [][]string{{"work", "files", "tool", "wall s", "min–max", "CPU s", "peak MiB", "× limit", "× " + baseline}}
	for _, w := range works() {
		for _, n := range b.sizes {
			for _, t := range b.tools {
				if r := b.row(cell{w, t.name, n}); r != nil {
					rows = append(rows, r)
				}
			}
		}
	}
	if l == markdown {
		return markdownTable(rows)
	}
	return plainTable(rows)
}

func (b *bench) row(c cell) []string {
	row := []string{string(c.work), thousands(c.n), c.tool}
	if b.broken[c] != "" {
		return append(row, "—", "", "", "", "", "")
	}
	f, ok := b.figureOf(c)
	if !ok {
		return nil
	}
	wall := seconds(f.wall)
	if f.rounds < b.rounds {
		wall += "†"
	}
	return append(row, wall, seconds(f.low)+"–"+seconds(f.high), seconds(f.cpu), fmt.Sprintf("%.0f", float64(f.rss)/(1<<20)), times(f.toLimit), times(f.toFettle))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func times(r float64) string {
	switch {
	case r == 0:
		return ""
	case r < 10:
		return fmt.Sprintf("%.2f", r)
	}
	return fmt.Sprintf("%.0f", r)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

func plainTable(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for k, r := range rows {
		if k > 0 && rows[k-1][0]+rows[k-1][1] != r[0]+r[1] {
			b.WriteString("\n")
		}
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 1 || i > 2 {
				b.WriteString(pad + c + "  ")
			} else {
				b.WriteString(c + pad + "  ")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, r := range rows {
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---|--:|---|--:|--:|--:|--:|--:|--:|\n")
		}
	}
	return b.String()
}
