package main

import (
	"cmp"
	"fmt"
	"math"
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
		toLimit:  b.ratio(c, cell{c.work, limitName, c.n}),
		toFettle: b.ratio(c, cell{c.work, baseline(c.work), c.n}),
		rounds:   len(all),
	}, true
}

// ratio compares two cells round by round.
func (b *bench) ratio(c, other cell) float64 {
	var of []float64
	for _, s := range b.results[c] {
		for _, o := range b.ofRound(other, s.round) {
			of = append(of, float64(s.wall)/float64(o.wall))
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

// rows are the table of a work with its head: by number, then the fastest
// first. Nil is a work that was not measured.
func (b *bench) rows(w work) [][]string {
	var rows [][]string
	for _, f := range b.fields {
		if !slices.Contains(f.works, w) {
			continue
		}
		for _, n := range f.sizes {
			if w == coldList {
				rows = append(rows, b.listRows(f, n)...)
			} else {
				rows = append(rows, b.sizeRows(f, w, n)...)
			}
		}
	}
	if rows == nil {
		return nil
	}
	head := []string{"number", "tool", "wall s", "min–max", "CPU s", "peak MiB", "× limit", "× " + baseline(w)}
	if w == coldList {
		head = append(head[:6], "× from the cache")
	}
	return append([][]string{head}, rows...)
}

// sizeRows are the tools with one number of things.
func (b *bench) sizeRows(f field, w work, n int) [][]string {
	type line struct {
		wall time.Duration
		row  []string
	}
	var lines []line
	for _, t := range f.tools {
		c := cell{w, t.name, n}
		if b.broken[c] != "" {
			lines = append(lines, line{math.MaxInt64, []string{thousands(n), t.name, "—", "", "", "", "", ""}})
		} else if m, ok := b.figureOf(c); ok {
			lines = append(lines, line{m.wall, append(b.measures(f, c, m, t.name), times(m.toLimit), times(m.toFettle))})
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.wall, b.wall) })
	var rows [][]string
	for _, l := range lines {
		rows = append(rows, l.row)
	}
	return rows
}

// listRows compare runs without changes: with the list from the cache, and
// with the list compiled anew.
func (b *bench) listRows(f field, n int) [][]string {
	var rows [][]string
	for _, t := range f.tools {
		cold, warm := cell{coldList, t.name, n}, cell{noChange, t.name, n}
		m, ok := b.figureOf(cold)
		if !ok {
			continue
		}
		if was, ok := b.figureOf(warm); ok {
			rows = append(rows, append(b.measures(f, warm, was, t.name+": from the cache"), times(1)))
		}
		rows = append(rows, append(b.measures(f, cold, m, t.name+": compiled again"), times(b.ratio(cold, warm))))
	}
	return rows
}

// measures are the columns that every table has.
func (b *bench) measures(f field, c cell, m figure, name string) []string {
	wall := seconds(m.wall)
	if m.rounds < f.rounds {
		wall += "†"
	}
	return []string{thousands(c.n), name, wall, seconds(m.low) + "–" + seconds(m.high), seconds(m.cpu),
		fmt.Sprintf("%.0f", float64(m.rss)/(1<<20))}
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
		if k > 0 && rows[k-1][0] != r[0] {
			b.WriteString("\n")
		}
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i != 1 {
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
			b.WriteString("|--:|---|" + strings.Repeat("--:|", len(r)-2) + "\n")
		}
	}
	return b.String()
}
