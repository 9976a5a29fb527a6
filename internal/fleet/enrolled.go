package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// EnrolledFile is the file at the top of a repository's tree in which hubs and agents
// tell the language of the targets that are enrolled. It is made, never committed: one
// of that name in a repository gives way to it.
const EnrolledFile = "enrolled.fettle.json"

// Enrolled is the text of EnrolledFile for some targets, with their labels by name. An
// agent writes the one of its own assignment, a hub those of all that are active. The
// same targets give the same bytes.
func Enrolled(targets map[string]map[string]string) []byte {
	blocks := map[string]enrolledBlock{}
	for name, labels := range targets {
		blocks[name] = enrolledBlock{Labels: orEmpty(labels)}
	}
	return enrolledText(blocks)
}

// EnrolledWaiting is Enrolled for one target, with the directories of modules that it has
// and that have to wait: they are not there, and that is no mistake.
func EnrolledWaiting(name string, labels map[string]string, waits []string) []byte {
	return enrolledText(map[string]enrolledBlock{name: {orEmpty(labels), waits}})
}

// enrolledBytes is how large one of EnrolledFiles becomes, about: the language reads files of
// 1 MiB at most.
const enrolledBytes = 512 << 10

// EnrolledFiles are the texts of files that say together what Enrolled does, by name:
// EnrolledFile, and where that would be too large enrolled002.fettle.json and so on.
func EnrolledFiles(targets map[string]map[string]string) map[string]string {
	files := map[string]string{}
	part, size := map[string]map[string]string{}, 0
	end := func() {
		name := EnrolledFile
		if n := len(files) + 1; n > 1 {
			name = fmt.Sprintf(enrolledFiles, n)
		}
		files[name] = string(Enrolled(part))
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

// enrolledFiles sorts behind EnrolledFile, so that targets are in the order of their names.
const enrolledFiles = "enrolled%03d.fettle.json"

// IsEnrolledFile tells whether a path is one that EnrolledFiles may use.
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
		panic(err) // texts alone: there is nothing in it that has no JSON
	}
	return append(text, '\n')
}
