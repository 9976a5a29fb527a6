package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// EnrolledFile is a generated file in the root of a repository's tree. Hubs and agents write the
// enrolled targets into it, for the language. It is never committed: a file of this name in a
// repository is ignored.
const EnrolledFile = "enrolled.fettle.json"

// Enrolled returns the text of EnrolledFile for targets with their labels, by name. An agent writes
// only its own target, a hub all active targets. The same targets give the same bytes.
func Enrolled(targets map[string]map[string]string) []byte {
	blocks := map[string]enrolledBlock{}
	for name, labels := range targets {
		blocks[name] = enrolledBlock{Labels: orEmpty(labels)}
	}
	return enrolledText(blocks)
}

// EnrolledWaiting is Enrolled for one target, with the directories of its modules that are
// deferred: they do not exist yet, and this is not an error.
func EnrolledWaiting(name string, labels map[string]string, waits []string) []byte {
	return enrolledText(map[string]enrolledBlock{name: {orEmpty(labels), waits}})
}

// enrolledBytes is the approximate maximum size of one of EnrolledFiles: the language reads files
// of at most 1 MiB.
const enrolledBytes = 512 << 10

// EnrolledFiles returns the content of Enrolled as one or several files, by name: EnrolledFile, and
// enrolled002.fettle.json and so on if it would be too large.
func EnrolledFiles(targets map[string]map[string]string) map[string]string {
	return EnrolledFilesWaiting(targets, nil)
}

// EnrolledFilesWaiting is EnrolledFiles for targets that have the same deferred modules: see EnrolledWaiting.
func EnrolledFilesWaiting(targets map[string]map[string]string, waits []string) map[string]string {
	files := map[string]string{}
	part, size := map[string]map[string]string{}, 0
	end := func() {
		name := EnrolledFile
		if n := len(files) + 1; n > 1 {
			name = fmt.Sprintf(enrolledFiles, n)
		}
		blocks := map[string]enrolledBlock{}
		for target, labels := range part {
			blocks[target] = enrolledBlock{orEmpty(labels), waits}
		}
		files[name] = string(enrolledText(blocks))
		part, size = map[string]map[string]string{}, 0
	}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		part[name] = targets[name]
		size += len(Enrolled(map[string]map[string]string{name: targets[name]}))
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

type enrolledBlock struct {
	Labels map[string]string `json:"labels"`
	Waits  []string          `json:"waits,omitempty"`
}

func orEmpty(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

func enrolledText(blocks map[string]enrolledBlock) []byte {
	text, err := json.MarshalIndent(map[string]any{"enrolled": blocks}, "", "  ")
	if err != nil {
		panic(err) // the values are only strings, which can be encoded
	}
	return append(text, '\n')
}
