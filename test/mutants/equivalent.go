package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// equivalents are mutants that change nothing, by name, with the reason.
type equivalents map[string]string

// readEquivalents reads lines "NAME  # REASON". It ignores empty lines and lines that begin with #. A
// line without a reason is an error.
func readEquivalents(file string) (equivalents, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := equivalents{}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, "  # ")
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: the reason is missing: NAME  # REASON", file, i+1)
		}
		out[name] = reason
	}
	return out, nil
}

// stale is an error for lines of a directory that name none of these mutants: the code has changed, and
// the reason with it.
func (e equivalents) stale(directory string, all []mutant) error {
	names := map[string]bool{}
	for _, m := range all {
		names[m.name()] = true
	}
	var out []string
	for name := range e {
		if strings.HasPrefix(name, directory+" ") && !names[name] {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil
	}
	slices.Sort(out)
	return fmt.Errorf("%w: remove the lines of mutants that no longer exist: %s", errGone, strings.Join(out, "; "))
}

// directories returns the directories of the packages with such mutants, sorted.
func (e equivalents) directories() []string {
	var out []string
	for name := range e {
		directory, _, _ := strings.Cut(name, " ")
		out = append(out, directory)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
