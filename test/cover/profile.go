package main

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// covered counts statements.
type covered struct{ all, run int }

func (c covered) percent() float64 {
	if c.all == 0 {
		return 0
	}
	return 100 * float64(c.run) / float64(c.all)
}

// read counts the statements of a coverage profile, by file and by directory below the module. A block
// occurs once for each test binary and counts once.
func read(profile, module string) (map[string]covered, error) {
	statements, hit := map[string]int{}, map[string]bool{}
	for i, line := range strings.Split(strings.TrimSpace(profile), "\n") {
		if strings.HasPrefix(line, "mode:") {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 || !strings.Contains(f[0], ":") {
			return nil, fmt.Errorf("cannot read line %d of the profile: %q", i+1, line)
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, fmt.Errorf("cannot read line %d of the profile: %q", i+1, line)
		}
		block := strings.TrimPrefix(f[0], module+"/")
		statements[block] = n
		hit[block] = hit[block] || f[2] != "0"
	}
	out := map[string]covered{}
	for block, n := range statements {
		file, _, _ := strings.Cut(block, ":")
		for _, name := range []string{file, path.Dir(file)} {
			c := out[name]
			c.all += n
			if hit[block] {
				c.run += n
			}
			out[name] = c
		}
	}
	return out, nil
}

// floor is the minimum coverage of a package or file, in percent.
type floor struct {
	path  string
	least float64
}

// parseFloors reads lines "PATH PERCENT", and ignores lines that begin with #.
func parseFloors(text string) ([]floor, error) {
	var out []floor
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, number, _ := strings.Cut(line, " ")
		least, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || least <= 0 || least > 100 {
			return nil, fmt.Errorf("cannot read line %d of the floors: %q; write PATH PERCENT", i+1, line)
		}
		if len(out) > 0 && out[len(out)-1].path >= name {
			return nil, fmt.Errorf("cannot take line %d of the floors: %q follows %q; sort them", i+1, name,
				out[len(out)-1].path)
		}
		out = append(out, floor{name, least})
	}
	return out, nil
}

// compare makes the table and lists what is below its floor, or was not measured.
func compare(floors []floor, got map[string]covered) (table string, below []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-36s %10s %8s %8s\n", "", "statements", "run", "floor")
	for _, f := range floors {
		c := got[f.path]
		fmt.Fprintf(&b, "%-36s %10d %7.1f%% %7.1f%%\n", f.path, c.all, c.percent(), f.least)
		if c.percent() < f.least {
			below = append(below, f.path)
		}
	}
	return b.String(), below
}
