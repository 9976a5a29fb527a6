package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// EnrolledFile is a generated file in the root of a repository's tree. Hubs and agents write the
// enrolled targets into it, for the language. It is never committed: a file of this name in a
// repository is ignored.
const EnrolledFile = "enrolled.fettle.json"

// EnrolledTarget is an enrolled target in EnrolledFile.
type EnrolledTarget struct {
	Labels map[string]string
	// Waits are the directories of its modules that are deferred: they do not exist yet, and this is not an error.
	Waits       []string
	Environment *Environment
	TestsFor    []Environment // see Assignment
}

// EnrolledTargets are enrolled targets by name.
type EnrolledTargets map[string]EnrolledTarget

// EnrolledWith returns targets that have only labels.
func EnrolledWith(labels map[string]map[string]string) EnrolledTargets {
	out := EnrolledTargets{}
	for name, l := range labels {
		out[name] = EnrolledTarget{Labels: l}
	}
	return out
}

// Enrolled returns the text of EnrolledFile for targets. An agent writes only its own target, a hub all active targets.
// The same targets give the same bytes.
func Enrolled(targets EnrolledTargets) []byte {
	blocks := map[string]enrolledBlock{}
	for name, t := range targets {
		b := enrolledBlock{Labels: t.Labels, Waits: t.Waits, Environment: t.Environment.escaped()}
		for _, e := range t.TestsFor {
			b.TestsFor = append(b.TestsFor, e.escaped())
		}
		if b.Labels == nil {
			b.Labels = map[string]string{}
		}
		blocks[name] = b
	}
	text, err := json.MarshalIndent(map[string]any{"enrolled": blocks}, "", "  ")
	if err != nil {
		panic(err) // the values are only strings, which can be encoded
	}
	return append(inASCII(text), '\n')
}

// inASCII writes characters outside of printable ASCII as escapes of JSON: the language refuses invisible characters in
// a file, and an error in this file would concern all targets.
func inASCII(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || r >= ' ' && r < 0x7f:
			out = append(out, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

type enrolledBlock struct {
	Labels      map[string]string `json:"labels"`
	Waits       []string          `json:"waits,omitempty"`
	Environment *Environment      `json:"environment,omitempty"`
	TestsFor    []*Environment    `json:"tests_for,omitempty"`
}

// enrolledBytes is the approximate maximum size of one of EnrolledFiles: the language reads files
// of at most 1 MiB.
const enrolledBytes = 512 << 10

// EnrolledFiles returns the content of Enrolled as one or several files, by name: EnrolledFile, and
// enrolled002.fettle.json and so on if it would be too large.
func EnrolledFiles(targets EnrolledTargets) map[string]string {
	files := map[string]string{}
	part, size := EnrolledTargets{}, 0
	end := func() {
		name := EnrolledFile
		if n := len(files) + 1; n > 1 {
			name = fmt.Sprintf(enrolledFiles, n)
		}
		files[name] = string(Enrolled(part))
		part, size = EnrolledTargets{}, 0
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		part[name] = targets[name]
		size += len(Enrolled(EnrolledTargets{name: targets[name]}))
		if size > enrolledBytes {
			end()
		}
	}
	if len(part) > 0 || len(files) == 0 {
		end()
	}
	return files
}

// enrolledFiles sorts after EnrolledFile, so that targets are in the order of their names.
const enrolledFiles = "enrolled%03d.fettle.json"

// IsEnrolledFile returns true if EnrolledFiles may use the path.
func IsEnrolledFile(path string) bool {
	number, ends := strings.CutSuffix(path, ".fettle.json")
	number, ours := strings.CutPrefix(number, "enrolled")
	n, err := strconv.Atoi(number)
	return path == EnrolledFile || ends && ours && err == nil && path == fmt.Sprintf(enrolledFiles, n)
}
